#include <fmt/format.h>

#include <sstream>

#include "command_line/command_text.h"
#include "lockstep/base/version.h"

namespace lockstep::cli {
namespace {

/// Text that roff prints as it is: no escapes, no hyphens in place of minus signs, no requests.
std::string roff_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool line_start = out.empty() || out.back() == '\n';
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string option_entry(const OptionText& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    names.push_back(fmt::format("\\fB{}\\fR", roff_text(name)));
  }
  std::string entry = fmt::format(".TP\n{}", fmt::join(names, ", "));
  if (!option.value.empty() && !option.argument) {
    entry += fmt::format(" \\fI{}\\fR", roff_text(option.value));
  }
  entry += "\n" + roff_text(option.help);
  if (!option.fallback.empty()) entry += fmt::format(" (default: {})", roff_text(option.fallback));
  return entry + "\n";
}

std::string synopsis(const CommandText& command, const std::string& called) {
  std::string line = fmt::format("\\fB{}\\fR", roff_text(called));
  for (const OptionText& option : command.options) {
    if (option.argument) line += fmt::format(" [\\fI{}\\fR]", roff_text(option.names.front()));
  }
  if (!command.commands.empty()) line += " \\fICOMMAND\\fR";
  return line + " [\\fIOPTION\\fR]...\n";
}

}  // namespace

std::string manual_page(const CommandText& command, const std::vector<std::string>& path) {
  const std::string page = fmt::format("{}", fmt::join(path, "-"));
  const std::string called = fmt::format("{}", fmt::join(path, " "));
  // No date: the same sources give the same page.
  std::string out = fmt::format(".TH \"{}\" 1 \"\" \"lockstep {}\" \"User Commands\"\n",
                                roff_text(page), kVersion);
  out += fmt::format(".SH NAME\n{} \\- {}\n", roff_text(page), roff_text(command.summary));
  out += ".SH SYNOPSIS\n" + synopsis(command, called);
  if (!command.options.empty()) out += ".SH OPTIONS\n";
  for (const OptionText& option : command.options) out += option_entry(option);
  if (!command.commands.empty()) out += ".SH COMMANDS\n";
  for (const CommandText& below : command.commands) {
    out += fmt::format(".TP\n\\fB{} {}\\fR\n{}\n", roff_text(called), roff_text(below.name),
                       roff_text(below.summary));
  }
  out += ".SH EXAMPLES\n.nf\n" + roff_text(command.footer) + "\n.fi\n";
  return out;
}

}  // namespace lockstep::cli
