#include "lockstep/report/run_tables.h"

#include <fmt/format.h>

#include <cmath>

#include "lockstep/base/units.h"

namespace lockstep::report {
namespace {

Cell duration(double seconds) {
  if (!std::isfinite(seconds)) return {};
  return {format_seconds(Seconds(seconds)), seconds};
}

Cell rate(double per_second) {
  if (!std::isfinite(per_second) || per_second <= 0) return {};
  return {format_count(std::llround(per_second)), per_second};
}

Cell wall_time(std::int64_t wall_ns) {
  return {format_local_time(wall_ns), static_cast<double>(wall_ns) * 1e-9};
}

std::string recipe_label(const record::RunSpec& spec) {
  return spec.data.synthetic ? spec.recipe + " (synthetic)" : spec.recipe;
}

double mean_rate(const store::RunSummary& run) {
  return run.train_s > 0 ? static_cast<double>(run.examples) / run.train_s : record::kUnknown;
}

std::string epochs_done(const store::RunSummary& run) {
  return fmt::format("{}/{}", run.epochs_done, run.spec.epochs);
}

std::string flags(const record::RunSpec& spec) {
  std::string text;
  const auto add = [&](bool wanted, const std::string& flag) {
    if (wanted) text += (text.empty() ? "" : ", ") + flag;
  };
  add(spec.accumulate > 1, fmt::format("accumulates {} micro-steps", spec.accumulate));
  add(spec.max_steps > 0, fmt::format("stops after {} steps", spec.max_steps));
  add(!spec.augment, "no augmentation");
  add(spec.oversubscribed, "oversubscribed: timings are unreliable");
  add(spec.launcher != "local", "started by " + spec.launcher);
  add(spec.queue_wait_s >= 0, fmt::format("waited {} in the queue, apart from all times",
                                          format_seconds(Seconds(spec.queue_wait_s))));
  return text.empty() ? "none" : text;
}

}  // namespace

Table runs_table(std::span<const store::RunSummary> runs) {
  Table table;
  table.columns = {
      {"id", "", "id", Align::kRight, ""},
      {"recipe", "", "recipe", Align::kLeft, ""},
      {"workers", "", "workers", Align::kRight, "N, processes with one device each"},
      {"b", "", "batch_per_worker", Align::kRight, "batch per worker"},
      {"B", "", "global_batch", Align::kRight, "global batch N b A"},
      {"strategy", "", "strategy", Align::kLeft, "how gradients are synchronised"},
      {"epochs", "", "epochs", Align::kRight, "finished / asked for"},
      {"examples/s", "", "examples_per_s", Align::kRight,
       "of all workers, mean over the finished epochs"},
      {"val acc", "", "val_accuracy", Align::kRight, "after the last finished epoch"},
      {"status", "", "status", Align::kLeft, "killed: it never said that it ended"},
      {"started", "", "started_wall_s", Align::kLeft, "local time; seconds since 1970 in data"},
      {"total", "", "total_s", Align::kRight, "from start to end, validation included"}};
  bool unreliable = false;
  for (const store::RunSummary& run : runs) {
    unreliable |= run.spec.oversubscribed;
    const Cell speed = rate(mean_rate(run));
    table.rows.push_back(
        {count(run.id), recipe_label(run.spec), count(run.spec.workers),
         count(run.spec.batch_per_worker), count(run.spec.global_batch()), run.spec.strategy,
         epochs_done(run),
         run.spec.oversubscribed && speed.number ? Cell(speed.text + "*", *speed.number) : speed,
         decimal(run.last_val_accuracy, 4), std::string(store::state_name(run.state)),
         wall_time(run.started_wall_ns), duration(run.total_s)});
  }
  if (unreliable) table.notes.push_back("* more threads than cores: the timing is unreliable");
  return table;
}

Table run_facts_table(const store::StoredRun& run) {
  const record::RunSpec& spec = run.started.spec;
  const record::Machine& machine = run.started.machine;
  const record::Build& build = run.started.build;
  Table table;
  table.title = fmt::format("run {}: {}", run.summary.id, recipe_label(spec));
  table.columns = {{"", "", "fact", Align::kLeft, ""}, {"", "", "value", Align::kLeft, ""}};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) table.rows.push_back({name, value});
  };
  add("status", std::string(store::state_name(run.summary.state)));
  add("started", format_local_time(run.started.started_wall_ns));
  if (run.ended) {
    add("ended", format_local_time(run.ended->ended_wall_ns));
    add("total", format_seconds(Seconds(run.ended->total_s)));
    if (run.ended->peak_memory_bytes > 0) {
      add("peak memory", format_bytes({static_cast<std::uint64_t>(run.ended->peak_memory_bytes)}) +
                             " in the largest worker");
    }
    add("parameters digest", run.ended->parameters_digest);
  }
  add("study", run.summary.label.study);
  add("data",
      fmt::format("{}{}, {} to train, {} to validate", spec.data.name,
                  spec.data.synthetic ? " (synthetic)" : "", format_count(spec.data.train_examples),
                  format_count(spec.data.val_examples)));
  add("workers", fmt::format("{} on {}, {} node(s), {} thread(s) each", spec.workers, spec.device,
                             spec.nodes, spec.threads_per_worker));
  add("batch", fmt::format("b = {}, B = {}", spec.batch_per_worker, spec.global_batch()));
  add("epochs", epochs_done(run.summary) +
                    (run.started.first_epoch > 1
                         ? fmt::format(", resumed at epoch {}", run.started.first_epoch)
                         : ""));
  add("gradients", fmt::format("{} over {}, buckets of {}", spec.strategy, spec.backend,
                               format_bytes({spec.bucket_bytes})));
  add("optimizer", fmt::format("{}, learning rate {}, momentum {}, weight decay {}{}",
                               spec.optimizer, spec.learning_rate, spec.momentum, spec.weight_decay,
                               spec.schedule.empty() ? "" : ", schedule " + spec.schedule));
  if (spec.parameters > 0) add("parameters", format_count(spec.parameters));
  add("seed", std::to_string(spec.seed));
  add("options", flags(spec));
  add("command", spec.command);
  add("machine", fmt::format("{}: {}, {} core(s), {}", machine.host, machine.cpu, machine.cores,
                             format_bytes({static_cast<std::uint64_t>(machine.memory_bytes)})));
  for (const std::string& gpu : machine.gpus) add("gpu", gpu);
  add("system", machine.system);
  add("build", fmt::format("lockstep {}, {}, LibTorch {}, {}", build.version, build.compiler,
                           build.torch, build.blas));
  for (const record::CheckpointWritten& checkpoint : run.checkpoints) {
    add("checkpoint",
        fmt::format("{} (epoch {}, step {})", checkpoint.path, checkpoint.epoch, checkpoint.step));
  }
  return table;
}

Table epochs_table(std::span<const record::EpochResult> epochs) {
  Table table;
  table.title = "epochs";
  table.columns = {{"epoch", "", "epoch"},
                   {"train loss", "", "train_loss"},
                   {"train acc", "", "train_accuracy"},
                   {"val loss", "", "val_loss"},
                   {"val acc", "", "val_accuracy"},
                   {"learning rate", "", "learning_rate", Align::kRight, "at the epoch's end"},
                   {"examples/s", "", "examples_per_s", Align::kRight, "examples / train time"},
                   {"train", "s", "train_s", Align::kRight, "first to last training step"},
                   {"val", "s", "val_s", Align::kRight, "validation"}};
  for (const record::EpochResult& epoch : epochs) {
    table.rows.push_back({count(epoch.epoch), decimal(epoch.train_loss, 4),
                          decimal(epoch.train_accuracy, 4), decimal(epoch.val_loss, 4),
                          decimal(epoch.val_accuracy, 4), significant(epoch.learning_rate),
                          rate(epoch.examples_per_s), significant(epoch.train_s),
                          significant(epoch.val_s)});
  }
  return table;
}

Table errors_table(std::span<const record::WorkerError> errors) {
  Table table;
  table.title = "errors of workers";
  table.columns = {{"rank", "", "rank"},
                   {"kind", "", "kind", Align::kLeft, ""},
                   {"message", "", "message", Align::kLeft, ""},
                   {"hint", "", "hint", Align::kLeft, ""}};
  for (const record::WorkerError& error : errors) {
    table.rows.push_back({count(error.rank), error.kind, error.message, error.hint});
  }
  return table;
}

}  // namespace lockstep::report
