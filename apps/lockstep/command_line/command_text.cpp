#include "command_line/command_text.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "command_line/command_line.h"

namespace lockstep::cli {
namespace {

/// "shm|gloo|mpi" is a list of choices; "DIR|synthetic" names a kind of value, too.
std::vector<std::string> choices_in(const std::string& value) {
  std::vector<std::string> choices;
  if (value.find('|') == std::string::npos) return choices;
  std::istringstream in(value);
  for (std::string choice; std::getline(in, choice, '|');) choices.push_back(choice);
  std::erase_if(choices, [](const std::string& choice) {
    return std::any_of(choice.begin(), choice.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  });
  return choices;
}

/// "FOLDER", as the values of options are written.
std::string placeholder(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

OptionText option_text(const CLI::Option& option) {
  OptionText text;
  text.argument = option.get_positional() && !option.nonpositional();
  if (text.argument) text.names = {placeholder(option.get_name(true))};
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  if (option.get_expected_max() > 0) {
    // What follows the colon are checks: "PORT:INT in [0 - 65535]".
    const std::string kind = option.get_type_name();
    text.value = kind.substr(0, kind.find(':'));
  }
  text.fallback = option.get_default_str();
  text.choices = choices_in(text.value);
  text.help = option.get_description();
  text.group = text.argument ? "Arguments" : option.get_group();
  return text;
}

}  // namespace

bool OptionText::takes_path() const {
  constexpr std::array<std::string_view, 4> kPaths{"FILE", "FOLDER", "DIR", "PATH"};
  return std::any_of(kPaths.begin(), kPaths.end(), [this](std::string_view kind) {
    return value.find(kind) != std::string::npos;
  });
}

std::string first_sentence(std::string_view text) {
  text = text.substr(0, text.find(". "));
  if (text.ends_with('.')) text.remove_suffix(1);
  return std::string(text);
}

CommandText command_text(const CLI::App& app) {
  CommandText text;
  text.name = app.get_name();
  text.summary = app.get_description();
  text.footer = app.get_footer();
  text.group = app.get_group();
  text.takes_command = takes_command(text.name);
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) text.options.push_back(option_text(*option));
  }
  const auto visible = [](const CLI::App* command) { return !command->get_group().empty(); };
  for (const CLI::App* command : app.get_subcommands(visible)) {
    text.commands.push_back(command_text(*command));
  }
  return text;
}

}  // namespace lockstep::cli
