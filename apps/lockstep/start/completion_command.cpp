#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <memory>

#include "command_line/command.h"
#include "command_line/command_text.h"
#include "lockstep/base/error.h"
#include "lockstep/base/system/output_file.h"

namespace lockstep::cli {
namespace {

void write_pages(const CommandText& command, std::vector<std::string> path,
                 const std::string& folder) {
  path.push_back(command.name);
  const std::string file = fmt::format("{}/{}.1", folder, fmt::join(path, "-"));
  write_result(file, [&](std::ostream& out) { out << manual_page(command, path); });
  for (const CommandText& below : command.commands) write_pages(below, path, folder);
}

}  // namespace

void add_completion_command(CLI::App& app, const GlobalOptions&) {
  const auto shell = std::make_shared<std::string>();
  CLI::App& command =
      add_command(app, "completion", "Prints a completion script for your shell.",
                  {"lockstep completion bash > ~/.local/share/bash-completion/completions/lockstep",
                   "lockstep completion zsh > ~/.zfunc/_lockstep",
                   "lockstep completion fish > ~/.config/fish/completions/lockstep.fish"});
  command.add_option("shell", *shell, "bash, zsh or fish")->type_name("bash|zsh|fish")->required();
  set_action(command,
             [&app, shell] { fmt::print("{}", completion_script(command_text(app), *shell)); });

  // For packages, which install the pages; a person has --help.
  const auto folder = std::make_shared<std::string>();
  CLI::App& manual = add_command(app, "manual", "Writes the manual pages into a folder.",
                                 {"lockstep manual share/man/man1"});
  manual.group("");
  manual.add_option("folder", *folder, "Folder for lockstep.1, lockstep-train.1, ...")
      ->type_name("FOLDER")
      ->required();
  set_action(manual, [&app, folder] {
    std::error_code failure;
    std::filesystem::create_directories(*folder, failure);
    write_pages(command_text(app), {}, *folder);
  });
}

}  // namespace lockstep::cli
