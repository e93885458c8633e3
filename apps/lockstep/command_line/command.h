#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lockstep::report {
struct Table;
}

namespace lockstep::cli {

/// Options every command takes, before or after its name. Filled before any action runs.
struct GlobalOptions {
  std::string store_path = "lockstep.db";
  bool json = false;                      ///< results on stdout as JSON, for programs
  std::vector<std::string> after_dashes;  ///< the command that follows "--"
};

/// Adds the command `name` to `app`: one sentence about what it does, and the example lines
/// that close its --help.
CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& summary,
                      const std::vector<std::string>& examples);

/// Runs `action` once the whole command line is parsed and `command` was named on it. Results go to
/// stdout, diagnostics to stderr. It returns when all went well and throws lockstep::Error
/// otherwise, which main prints and turns into the exit code.
void set_action(CLI::App& command, std::function<void()> action);

/// Thrown by an action to end with the exit code of a command that was run for the user. Nothing
/// more is printed.
struct CommandExit {
  int code = 0;
};

/// Prints a table as text, as wide as the terminal.
void print(const report::Table& table);
/// The object on its own line on stdout, always valid UTF-8.
void print_line(const nlohmann::json& json);

/// One function per command, each in its own file (train_command.cpp, ...). `options` outlives
/// parsing and must be read only inside the action.
void add_train_command(CLI::App& app, const GlobalOptions& options);
void add_run_command(CLI::App& app, const GlobalOptions& options);
void add_study_command(CLI::App& app, const GlobalOptions& options);
void add_runs_command(CLI::App& app, const GlobalOptions& options);
void add_report_command(CLI::App& app, const GlobalOptions& options);
void add_audit_command(CLI::App& app, const GlobalOptions& options);
void add_import_command(CLI::App& app, const GlobalOptions& options);
void add_export_command(CLI::App& app, const GlobalOptions& options);
void add_predict_command(CLI::App& app, const GlobalOptions& options);
void add_advise_command(CLI::App& app, const GlobalOptions& options);
void add_simulate_command(CLI::App& app, const GlobalOptions& options);
void add_bench_command(CLI::App& app, const GlobalOptions& options);
void add_serve_command(CLI::App& app, const GlobalOptions& options);
void add_doctor_command(CLI::App& app, const GlobalOptions& options);
void add_demo_command(CLI::App& app, const GlobalOptions& options);
void add_completion_command(CLI::App& app, const GlobalOptions& options);

}  // namespace lockstep::cli
