#include "command_line/command.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>
#include <utility>

#include "lockstep/base/terminal/terminal.h"
#include "lockstep/report/render/render.h"

namespace lockstep::cli {

CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& summary,
                      const std::vector<std::string>& examples) {
  CLI::App& command = *app.add_subcommand(name, summary);
  std::string footer = "Common: --store FILE (default lockstep.db), --json\n";
  footer += examples.size() > 1 ? "Examples:" : "Example:";
  for (const std::string& line : examples) footer += "\n  " + line;
  command.footer(footer + "\n");
  return command;
}

void set_action(CLI::App& command, std::function<void()> action) {
  // The final callback, not parse_complete: options that follow a nested command are read by then.
  command.final_callback(std::move(action));
}

void print(const report::Table& table) {
  fmt::print("{}", report::render(table, report::Format::kText, {.width = terminal_width()}));
}

void print_line(const nlohmann::json& json) {
  // Names come from files, in any encoding.
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace lockstep::cli
