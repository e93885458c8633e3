#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace lockstep::cli {

/// What the parser has of an option, for texts that are made from it: help, manual pages,
/// completions.
struct OptionText {
  std::vector<std::string> names;  ///< "-n", "--workers"; of an argument its one name
  bool argument = false;           ///< positional
  std::string value;               ///< "FILE"; empty for a flag
  std::string fallback;            ///< its default; empty when there is none
  std::vector<std::string> choices;
  std::string help;
  std::string group;  ///< the heading that it stands under in the help

  bool takes_path() const;
};

struct CommandText {
  std::string name;
  std::string summary;
  std::string footer;          ///< common options and examples
  std::string group;           ///< the heading that it stands under in the help
  bool takes_command = false;  ///< followed by -- COMMAND
  std::vector<OptionText> options;
  std::vector<CommandText> commands;
};

/// The visible options and commands of `app` and, with `commands`, of those below it.
CommandText command_text(const CLI::App& app);

/// The first sentence of a text without its full stop, for lists.
std::string first_sentence(std::string_view text);

/// The help of a command that is called as `called` ("lockstep train"), in lines of at most `width`
/// columns.
std::string help_text(const CommandText& command, const std::string& called, std::size_t width);

/// A completion script for bash, zsh or fish. Throws kUsage for another shell.
std::string completion_script(const CommandText& program, const std::string& shell);

/// A manual page in roff: of the program, or of the command that `path` ends with ("lockstep",
/// "train").
std::string manual_page(const CommandText& command, const std::vector<std::string>& path);

}  // namespace lockstep::cli
