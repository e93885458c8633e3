#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "command_line/command_text.h"
#include "lockstep/report/render/text_width.h"

namespace lockstep::cli {
namespace {

constexpr std::size_t kHelpColumn = 26;

/// "  -n, --workers N   What it means", the meaning wrapped below itself.
std::string help_entry(const std::string& left, const std::string& meaning, std::size_t width) {
  std::string out = "  " + left;
  if (out.size() + 2 > kHelpColumn) {
    out += "\n" + std::string(kHelpColumn, ' ');
  } else {
    out.resize(kHelpColumn, ' ');
  }
  const auto lines = report::wrap(meaning, std::max<std::size_t>(width, 60) - kHelpColumn);
  return fmt::format("{}{}\n", out,
                     fmt::join(lines, fmt::format("\n{}", std::string(kHelpColumn, ' '))));
}

std::string option_help(const OptionText& option, std::size_t width) {
  std::string left = fmt::format("{}", fmt::join(option.names, ", "));
  if (!option.value.empty() && !option.argument) left += " " + option.value;
  std::string meaning = option.help;
  if (!option.fallback.empty()) meaning += fmt::format(" (default: {})", option.fallback);
  return help_entry(left, meaning, width);
}

/// Calls `print` with each title in the order of first appearance, and the entries below it.
template <class Entry, class Print>
void by_group(const std::vector<Entry>& entries, const Print& print) {
  std::vector<std::string> titles;
  for (const Entry& entry : entries) {
    if (std::find(titles.begin(), titles.end(), entry.group) == titles.end())
      titles.push_back(entry.group);
  }
  for (const std::string& title : titles) {
    std::vector<Entry> below;
    std::copy_if(entries.begin(), entries.end(), std::back_inserter(below),
                 [&](const Entry& entry) { return entry.group == title; });
    print(title, below);
  }
}

}  // namespace

std::string help_text(const CommandText& command, const std::string& called, std::size_t width) {
  std::string out =
      fmt::format("{}\n\nUsage: {}", fmt::join(report::wrap(command.summary, width), "\n"), called);
  for (const OptionText& option : command.options) {
    if (option.argument) out += fmt::format(" [{}]", option.names.front());
  }
  out += command.commands.empty() ? " [OPTION]...\n" : " COMMAND [OPTION]...\n";
  if (command.takes_command) out.insert(out.size() - 1, " -- COMMAND");
  out += "\n" + command.footer;
  by_group(command.commands, [&](const std::string& title, const auto& commands) {
    out += fmt::format("\n{}:\n", title);
    for (const CommandText& one : commands)
      out += help_entry(one.name, first_sentence(one.summary), width);
  });
  by_group(command.options, [&](const std::string& title, const auto& options) {
    out += fmt::format("\n{}:\n", title);
    for (const OptionText& one : options) out += option_help(one, width);
  });
  return out;
}

}  // namespace lockstep::cli
