#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <memory>

#include "command_line/command.h"
#include "lockstep/base/error.h"
#include "lockstep/base/system/output_file.h"
#include "lockstep/collect/stored_runs.h"
#include "lockstep/import/scan/event_file.h"
#include "lockstep/import/scan/trace_file.h"
#include "lockstep/report/measurements_csv.h"
#include "lockstep/report/run_export.h"
#include "lockstep/store/store.h"

namespace lockstep::cli {
namespace {

struct ExportRequest {
  std::int64_t run = 0;
  std::string format;
  std::string output;
};

void write_tensorboard(store::Store& store, const store::StoredRun& run, std::ostream& out) {
  std::int64_t wall_ns = run.started.started_wall_ns;
  import::EventFileWriter writer(out, wall_ns);
  // Steps have monotonic times only: they are laid out from the start of the run.
  std::int64_t first_ns = 0;
  store.visit_steps(run.summary.id, [&](const record::StepTimes& step) {
    if (step.rank != 0) return;
    if (first_ns == 0) first_ns = step.start_ns;
    const std::int64_t at = run.started.started_wall_ns + (step.start_ns - first_ns);
    writer.scalar("step/time_s", step.step, step.total_s, at);
    for (int p = 0; p < record::kPhaseCount; ++p) {
      const auto phase = static_cast<record::Phase>(p);
      writer.scalar(fmt::format("step/{}_s", record::phase_name(phase)), step.step, step[phase],
                    at);
    }
  });
  for (const record::EpochResult& epoch : run.epochs) {
    wall_ns += static_cast<std::int64_t>((epoch.train_s + epoch.val_s) * 1e9);
    writer.scalar("train/loss", epoch.epoch, epoch.train_loss, wall_ns);
    writer.scalar("train/accuracy", epoch.epoch, epoch.train_accuracy, wall_ns);
    writer.scalar("val/loss", epoch.epoch, epoch.val_loss, wall_ns);
    writer.scalar("val/accuracy", epoch.epoch, epoch.val_accuracy, wall_ns);
    writer.scalar("learning_rate", epoch.epoch, epoch.learning_rate, wall_ns);
    if (epoch.train_s > 0) writer.scalar("epoch_time_s", epoch.epoch, epoch.train_s, wall_ns);
    if (epoch.examples_per_s > 0)
      writer.scalar("examples_per_s", epoch.epoch, epoch.examples_per_s, wall_ns);
    writer.scalar("epoch", epoch.epoch, epoch.epoch - 1,
                  wall_ns);  // from 0, as other loggers write it
  }
}

void write_chrome_trace(store::Store& store, const store::StoredRun& run, std::ostream& out) {
  import::TraceFileWriter writer(out);
  store.visit_steps(run.summary.id, [&](const record::StepTimes& step) { writer.step(step); });
  double start_us = 0;
  for (const record::EpochResult& epoch : run.epochs) start_us = writer.epoch(epoch, start_us);
}

/// TensorBoard looks for folders of event files: a path without that word in its name is the
/// folder.
std::string event_file_path(const ExportRequest& request) {
  const std::filesystem::path path = request.output;
  if (path.filename().string().find("tfevents") != std::string::npos) return request.output;
  std::error_code problem;
  std::filesystem::create_directories(path, problem);
  if (problem) {
    throw Error(ErrorKind::kData,
                fmt::format("cannot create the folder {}: {}", request.output, problem.message()));
  }
  return (path / fmt::format("events.out.tfevents.lockstep.run{}", request.run)).string();
}

void export_run(const GlobalOptions& global, const ExportRequest& request) {
  store::Store store(global.store_path);
  const store::StoredRun run = store.load(request.run);
  if (request.format == "tensorboard") {
    if (request.output.empty()) {
      throw Error(ErrorKind::kUsage, "an event file is binary and cannot be written to stdout",
                  "add -o FOLDER");
    }
    const std::string path = event_file_path(request);
    write_result(path, [&](std::ostream& out) { write_tensorboard(store, run, out); });
    fmt::print(stderr, "wrote {}\n", path);
    return;
  }
  write_result(request.output, [&](std::ostream& out) {
    if (request.format == "csv") {
      out << report::measurements_csv(collect::run_rows(store, request.run));
    } else if (request.format == "jsonl") {
      report::export_events(store, request.run, out);
    } else {
      write_chrome_trace(store, run, out);
    }
  });
}

void require_format(const std::string& format) {
  for (const char* known : {"tensorboard", "csv", "jsonl", "chrome-trace"}) {
    if (format == known) return;
  }
  throw Error(ErrorKind::kUsage, fmt::format("unknown export format '{}'", format),
              "choose tensorboard, csv (measurements table), jsonl (events) or chrome-trace");
}

}  // namespace

void add_export_command(CLI::App& app, const GlobalOptions& global) {
  const auto request = std::make_shared<ExportRequest>();
  CLI::App& command = add_command(
      app, "export", "Writes a run in a format that other tools read.",
      {"lockstep export 3 --to tensorboard -o logs/run3", "lockstep export 3 --to csv -o run3.csv",
       "lockstep export 3 --to jsonl", "lockstep export 3 --to chrome-trace -o run3.json"});
  command.add_option("run", request->run, "Id of the run")->required()->type_name("RUN");
  command.add_option("--to", request->format, "tensorboard, csv, jsonl or chrome-trace")
      ->required()
      ->type_name("FORMAT");
  command
      .add_option("-o,--output", request->output,
                  "File, or folder for tensorboard (default: stdout)")
      ->type_name("PATH");
  set_action(command, [&global, request] {
    require_format(request->format);
    export_run(global, *request);
  });
}

}  // namespace lockstep::cli
