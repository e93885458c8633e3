#include "command_line/command_line.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <regex>

#include "command_line/command_text.h"
#include "command_line/version_text.h"
#include "lockstep/base/error.h"
#include "lockstep/base/terminal/terminal.h"
#include "lockstep/base/version.h"
#include "lockstep/study/command/command_template.h"

namespace lockstep::cli {
namespace {

/// Number of single-letter edits, swaps of neighbours among them, that turn `a` into `b`
/// (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

/// The innermost command that was named, and how the user would write it.
const CLI::App* named_command(const CLI::App& app, std::string& path) {
  const CLI::App* command = &app;
  path = "lockstep";
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    path += " " + command->get_name();
  }
  return command;
}

std::vector<std::string> option_names(const CLI::App& app, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* level : {&command, &app}) {
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* entry : command.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(entry->get_name());
  }
  return names;
}

/// Whether the words that nothing took are a program of the user, without the "--" before it.
bool forgot_dashes(const CLI::App& command, std::vector<std::string> words) {
  const bool studies = command.get_name() == "study";
  if (!takes_command(command.get_name())) return false;
  if (studies) {
    for (const std::string& what : command.get_option("what")->results()) words.push_back(what);
  }
  return std::any_of(words.begin(), words.end(), study::names_a_program);
}

/// The error for the first unexpected argument: a mistyped option or command, or one too
/// many.
Error unexpected_argument(const CLI::App& app) {
  std::string path;
  const CLI::App& command = *named_command(app, path);
  const std::vector<std::string> left = app.remaining(true);
  std::string word = left.empty() ? "" : left.front();
  for (const std::string& argument : left) {
    if (argument.starts_with("-")) {
      word = argument.substr(0, argument.find('='));
      break;
    }
  }
  const bool option = word.starts_with("-");
  const std::vector<std::string> commands = command_names(command);
  const std::string meant = nearest(word, option ? option_names(app, command) : commands);
  std::string hint = fmt::format("see {} --help", path);
  if (forgot_dashes(command, left)) {
    hint = fmt::format("write your command after --: {} -- python train.py", path);
  } else if (!meant.empty()) {
    hint = fmt::format("did you mean {}? {}", meant, hint);
  }
  if (option) {
    return Error(ErrorKind::kUsage, fmt::format("{}: unknown option {}", path, word), hint);
  }
  if (!commands.empty()) {
    return Error(ErrorKind::kUsage, fmt::format("{}: unknown command '{}'", path, word), hint);
  }
  return Error(ErrorKind::kUsage, fmt::format("{}: unexpected argument '{}'", path, word), hint);
}

/// The parser's words for a wrong number in ours.
std::string plain_problem(const std::string& message) {
  static const std::regex kOutOfRange("(\\S+): Value (\\S+) not in range (\\S+) to (\\S+)");
  static const std::regex kNotANumber("Could not convert: (\\S+) = (.*)");
  std::smatch parts;
  if (std::regex_match(message, parts, kOutOfRange)) {
    // Whatever is no number is out of range to the parser; its bounds have six decimals.
    const std::string value = parts[2].str();
    char* end = nullptr;
    std::strtod(value.c_str(), &end);
    if (*end != '\0') return fmt::format("{} '{}' is not a number", parts[1].str(), value);
    return fmt::format("{} {} is not between {:.10g} and {:.10g}", parts[1].str(), value,
                       std::stod(parts[3].str()), std::stod(parts[4].str()));
  }
  if (std::regex_match(message, parts, kNotANumber)) {
    return fmt::format("{} '{}' is not a number", parts[1].str(), parts[2].str());
  }
  if (message == "A subcommand is required") return "the command needs a subcommand";
  return message;
}

Error usage_error(const CLI::App& app, const CLI::ParseError& problem) {
  if (dynamic_cast<const CLI::ExtrasError*>(&problem) != nullptr) return unexpected_argument(app);
  std::string path;
  named_command(app, path);
  std::string message = problem.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&problem) != nullptr) {
    const std::string name = message.substr(0, message.find(':'));
    if (message.ends_with("missing")) message = name + " needs a value";
    if (message.find("At Most") != std::string::npos) message = name + " was given more than once";
  }
  return Error(ErrorKind::kUsage, plain_problem(message), fmt::format("see {} --help", path));
}

int report(const Error& error) {
  std::fputs(format_error(error).c_str(), stderr);
  return exit_code(error.kind());
}

void require_command(const CLI::App& app) {
  if (!app.get_subcommands().empty()) return;
  std::fputs((app.help() + "\n").c_str(), stderr);
  throw Error(ErrorKind::kUsage, "no command given",
              "start with lockstep demo; lockstep COMMAND --help explains a command");
}

/// `lockstep help train` is `lockstep train --help`.
std::vector<std::string> with_help_as_option(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  auto first = words.begin();
  while (first != words.end() && first->starts_with("-")) {
    first += *first == "--store" && first + 1 != words.end() ? 2 : 1;
  }
  if (first != words.end() && *first == "help") {
    words.erase(first);
    words.emplace_back("--help");
  }
  return words;
}

/// A full disk must not look like success; a reader that went away is none of our business.
int check_output(int code) {
  const bool flushed = std::fflush(stdout) == 0;
  const std::string reason = flushed ? "" : std::string(": ") + std::strerror(errno);
  if (flushed && std::ferror(stdout) == 0) return code;
  pollfd reader{STDOUT_FILENO, 0, 0};
  if (::poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0) return code;
  return report(Error(ErrorKind::kEnvironment, "cannot write to standard output" + reason,
                      "check the free disk space"));
}

/// Takes the command after "--" off the command line of study and run: its options are not ours to
/// parse.
void take_command(std::vector<std::string>& words, std::vector<std::string>& command) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  const bool takes_one = std::any_of(words.begin(), dashes, takes_command);
  if (dashes == words.end() || !takes_one) return;
  command.assign(dashes + 1, words.end());
  words.erase(dashes, words.end());
  if (!command.empty()) return;
  throw Error(ErrorKind::kUsage, "no command follows --",
              "write your command after --, for example -- python train.py");
}

/// The path of a command as a user writes it: "lockstep bench device".
std::string called_as(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? "lockstep" : called_as(*parent) + " " + command.get_name();
}

void add_group(CLI::App& app, const CommandGroup& group, const GlobalOptions& options) {
  const auto present = [&] { return app.get_subcommands([](const CLI::App*) { return true; }); };
  const std::size_t before = present().size();
  for (const AddCommand add : group.commands) add(app, options);
  const auto commands = present();
  for (std::size_t i = before; i < commands.size(); ++i) {
    if (!commands[i]->get_group().empty()) commands[i]->group(group.title);
  }
}

int parse_and_run(CLI::App& app, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    app.parse(std::move(words));
    return 0;
  } catch (const CLI::CallForVersion&) {
    fmt::print("{}", version_text());
    return 0;
  } catch (const CLI::Success& help) {
    // Help on a command that does not exist would be mistaken for the help of that command.
    if (app.get_subcommands().empty() && !app.remaining().empty()) {
      return report(unexpected_argument(app));
    }
    return app.exit(help);
  } catch (const CLI::ParseError& problem) {
    return report(usage_error(app, problem));
  }
}

}  // namespace

bool takes_command(std::string_view name) {
  return name == "study" || name == "run";
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

int run_command_line(int argc, char** argv, const std::vector<CommandGroup>& groups) {
  try {
    GlobalOptions options;
    CLI::App app{
        "Measures data-parallel training (your script, your logs or its own trainer), shows where "
        "the time goes, and recommends how many workers to use.",
        "lockstep"};
    // Inherited by the commands, which are added below.
    app.formatter_fn([](const CLI::App* command, const std::string&, CLI::AppFormatMode) {
      const std::size_t columns = terminal_width();
      return help_text(command_text(*command), called_as(*command), columns == 0 ? 100 : columns);
    });
    app.fallthrough();
    app.require_subcommand(0, 1);
    app.set_version_flag("--version,-V", kVersion, "Print the version and exit");
    app.add_option("--store", options.store_path, "SQLite file with all runs")
        ->type_name("FILE")
        ->capture_default_str();
    app.add_flag("--json", options.json, "Print results as JSON on stdout");
    for (const CommandGroup& group : groups) add_group(app, group, options);
    app.footer(
        "Examples:\n"
        "  lockstep demo\n"
        "  lockstep study --workers 1,2,4 --batch 32,128 -- torchrun --nproc_per_node {workers} "
        "train.py -b {batch}\n"
        "  lockstep import logs/*.log\n");
    app.final_callback([&app] { require_command(app); });
    std::vector<std::string> words = with_help_as_option(argc, argv);
    take_command(words, options.after_dashes);
    return check_output(parse_and_run(app, std::move(words)));
  } catch (const CommandExit& exit) {
    return exit.code;
  } catch (const Error& error) {
    return report(error);
  } catch (const std::exception& problem) {
    return report(
        Error(ErrorKind::kInternal, problem.what(), "this is a bug in lockstep; please report it"));
  }
}

}  // namespace lockstep::cli
