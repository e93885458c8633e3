#include <fmt/format.h>

#include "command_line/command_text.h"
#include "lockstep/base/error.h"

namespace lockstep::cli {
namespace {

/// Options that a word may name after `command`: its own and those of the program.
std::vector<OptionText> options_of(const CommandText& program, const CommandText& command) {
  std::vector<OptionText> options = command.options;
  if (&program != &command) {
    options.insert(options.end(), program.options.begin(), program.options.end());
  }
  return options;
}

/// All commands with the words that lead to each: "", "train", "runs list".
std::vector<std::pair<std::string, const CommandText*>> all_commands(const CommandText& program) {
  std::vector<std::pair<std::string, const CommandText*>> list{{"", &program}};
  for (std::size_t at = 0; at < list.size(); ++at) {
    const auto [path, command] = list[at];
    for (const CommandText& below : command->commands) {
      list.emplace_back(path.empty() ? below.name : path + " " + below.name, &below);
    }
  }
  return list;
}

/// For single quotes of a shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// The words of a command and, for options with a fixed set of values, those of each option.
/// bash and zsh share the shape; zsh runs it through bashcompinit.
std::string bash_script(const CommandText& program) {
  std::string words;
  std::string values;
  for (const auto& [path, command] : all_commands(program)) {
    std::vector<std::string> offered;
    for (const CommandText& below : command->commands) offered.push_back(below.name);
    for (const OptionText& option : options_of(program, *command)) {
      if (option.argument) {
        offered.insert(offered.end(), option.choices.begin(), option.choices.end());
        continue;
      }
      offered.push_back(option.names.back());
      for (const std::string& name : option.names) {
        if (!option.choices.empty()) {
          values += fmt::format("    {}) words={}; known=1 ;;\n", quoted(path + " " + name),
                                quoted(fmt::format("{}", fmt::join(option.choices, " "))));
        } else if (!option.value.empty()) {
          values += fmt::format("    {}) known=1 ;;\n", quoted(path + " " + name));
        }
      }
    }
    words += fmt::format("    {}) words={} ;;\n", quoted(path),
                         quoted(fmt::format("{}", fmt::join(offered, " "))));
  }
  std::vector<std::string> paths;
  for (const auto& [path, command] : all_commands(program)) {
    if (!path.empty()) paths.push_back(quoted(path));
  }
  return fmt::format(R"(# Completion of lockstep, made by: lockstep completion bash
_lockstep() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local path='' words='' known='' at word
  for ((at = 1; at < COMP_CWORD; ++at)); do
    word="${{path:+$path }}${{COMP_WORDS[at]}}"
    case $word in
    {}) path=$word ;;
    esac
  done
  case "$path $previous" in
{}  esac
  if [[ -z $known ]]; then
    case $path in
{}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ ${{#COMPREPLY[@]}} -eq 0 && $current != -* ]]; then COMPREPLY=($(compgen -f -- "$current")); fi
}}
complete -o filenames -F _lockstep lockstep
)",
                     fmt::join(paths, "|"), values, words);
}

std::string zsh_script(const CommandText& program) {
  return "#compdef lockstep\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(program);
}

std::string fish_script(const CommandText& program) {
  std::string out = "# Completion of lockstep, made by: lockstep completion fish\n";
  for (const auto& [path, command] : all_commands(program)) {
    const std::string condition =
        path.empty() ? "__fish_use_subcommand"
                     : "__fish_seen_subcommand_from " + path.substr(path.rfind(' ') + 1);
    for (const CommandText& below : command->commands) {
      out += fmt::format("complete -c lockstep -n {} -f -a {} -d {}\n", quoted(condition),
                         below.name, quoted(first_sentence(below.summary)));
    }
    for (const OptionText& option : command->options) {
      if (option.argument) continue;
      out += path.empty() ? "complete -c lockstep"
                          : fmt::format("complete -c lockstep -n {}", quoted(condition));
      for (const std::string& name : option.names) {
        const bool long_name = name.starts_with("--");
        out += fmt::format(" {} {}", long_name ? "-l" : "-s", name.substr(long_name ? 2 : 1));
      }
      if (!option.value.empty()) out += option.takes_path() ? " -r -F" : " -x";
      if (!option.choices.empty()) {
        out += " -a " + quoted(fmt::format("{}", fmt::join(option.choices, " ")));
      }
      out += fmt::format(" -d {}\n", quoted(first_sentence(option.help)));
    }
  }
  return out;
}

}  // namespace

std::string completion_script(const CommandText& program, const std::string& shell) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return zsh_script(program);
  if (shell == "fish") return fish_script(program);
  throw Error(ErrorKind::kUsage, fmt::format("there is no completion for '{}'", shell),
              "choose bash, zsh or fish");
}

}  // namespace lockstep::cli
