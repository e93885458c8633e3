#include "lockstep/report/run_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lockstep/base/units.h"

namespace lockstep::report {
namespace {

Cell rate(double per_second) {
  if (!std::isfinite(per_second) || per_second <= 0) return {};
  return {format_count(std::llround(per_second)), per_second};
}

/// Foreign logs leave out much; what they do not have is 0 in the record and "-" here.
Cell known(std::int64_t value) {
  return value > 0 ? count(value) : Cell();
}

Cell spent(double seconds) {
  return significant(seconds > 0 ? seconds : record::kUnknown);
}

Cell wall_time(std::int64_t wall_ns) {
  if (wall_ns <= 0) return {};
  return {format_local_time(wall_ns), static_cast<double>(wall_ns) * 1e-9};
}

std::string recipe_label(const record::RunSpec& spec) {
  return spec.data.synthetic ? spec.recipe + " (synthetic)" : spec.recipe;
}

std::string epochs_done(const store::RunSummary& run) {
  if (run.spec.epochs == 0 && run.spec.max_steps > 0) {
    return counted(run.spec.max_steps, "step");
  }
  if (run.spec.epochs == 0) return run.epochs_done == 0 ? "" : std::to_string(run.epochs_done);
  return fmt::format("{}/{}", run.epochs_done, run.spec.epochs);
}

std::string flags(const record::RunSpec& spec) {
  std::string text;
  const auto add = [&](bool wanted, const std::string& flag) {
    if (wanted) text += (text.empty() ? "" : ", ") + flag;
  };
  add(spec.accumulate > 1, fmt::format("accumulates {} micro-steps", spec.accumulate));
  add(spec.max_steps > 0, fmt::format("stops after {} steps", spec.max_steps));
  add(spec.sync_batch_norm, "batch norms over the global batch");
  add(spec.amp, "mixed precision");
  add(!spec.augment, "no augmentation");
  add(spec.oversubscribed, "oversubscribed: timings are unreliable");
  add(spec.launcher != record::Launcher::kLocal,
      fmt::format("started by {}", record::name_of(spec.launcher)));
  add(spec.queue_wait_s >= 0, fmt::format("waited {} in the queue, not included in any time",
                                          format_seconds(Seconds(spec.queue_wait_s))));
  return text.empty() ? "none" : text;
}

std::string exchange(const record::RunSpec& spec) {
  std::string text =
      fmt::format("{} over {}", record::name_of(spec.strategy), record::name_of(spec.backend));
  if (spec.strategy == record::Strategy::kLocal) {
    return text + (spec.average_every > 0
                       ? fmt::format(", weights averaged every {} steps", spec.average_every)
                       : ", weights averaged each epoch");
  }
  if (spec.bucket_auto && spec.bucket_chosen == 0) {
    text += ", no choice of bucket size recorded";
  } else {
    text += fmt::format(", buckets of {}{}", format_bytes({spec.bucket_in_use()}),
                        spec.bucket_auto ? " (chosen in the first steps)" : "");
  }
  if (spec.wire != record::Wire::kFloat) text += fmt::format(" as {}", record::name_of(spec.wire));
  return text;
}

/// The settings of the optimizer, without those it does not use.
std::string optimizer_text(const record::RunSpec& spec) {
  std::string text =
      fmt::format("{}, learning rate {}", record::name_of(spec.optimizer), spec.learning_rate);
  if (spec.lr_scale != record::RateScaling::kNone) {
    text += fmt::format(", scaled to {:.6g} ({} with B = {} / {})", spec.scaled_learning_rate,
                        record::name_of(spec.lr_scale), spec.global_batch(), spec.base_batch);
  }
  const bool betas = spec.optimizer && record::facts_of(*spec.optimizer).uses_betas;
  if (betas && spec.beta1 >= 0) {
    text += fmt::format(", betas {}, {}", spec.beta1, spec.beta2);
  } else if (!betas) {
    text += fmt::format(", momentum {}", spec.momentum);
  }
  text += fmt::format(", weight decay {}", spec.weight_decay);
  if (spec.schedule) text += fmt::format(", schedule {}", record::name_of(spec.schedule));
  if (spec.warmup_epochs > 0)
    text += fmt::format(" after {:.4g} epochs of warm-up", spec.warmup_epochs);
  return text;
}

std::string data_text(const record::RunSpec& spec) {
  std::string text = spec.data.name + (spec.data.synthetic ? " (synthetic)" : "");
  const auto part = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (spec.data.train_examples > 0) part(format_count(spec.data.train_examples) + " to train");
  if (spec.data.val_examples > 0) part(format_count(spec.data.val_examples) + " to validate");
  return text;
}

std::string workers_text(const record::RunSpec& spec) {
  if (spec.workers == 0) return "";
  std::string text = std::to_string(spec.workers);
  if (!spec.device.empty()) text += " on " + spec.device;
  if (spec.nodes > 0) text += ", " + counted(spec.nodes, "node");
  if (spec.threads_per_worker > 0) {
    text += ", " + counted(spec.threads_per_worker, "thread") + " each";
  }
  return text;
}

/// "1 x 1: 4,688, 1 x 2: 5,902, 2 x 1: 8,110 examples/s".
std::string trials_text(const std::vector<record::WorkerTrial>& trials) {
  std::string text;
  for (const record::WorkerTrial& trial : trials) {
    text += fmt::format("{}{} x {}: {}", text.empty() ? "" : ", ", trial.workers,
                        trial.threads_per_worker,
                        trial.examples_per_s > 0 ? format_count(std::llround(trial.examples_per_s))
                                                 : "out of memory");
  }
  return text.empty() ? "" : text + " examples/s";
}

}  // namespace

Table runs_table(std::span<const store::RunSummary> runs) {
  Table table;
  table.columns = {
      {"id", "", "id", Align::kRight, ""},
      {"recipe", "", "recipe", Align::kLeft, ""},
      {"N", "", "workers", Align::kRight, "workers, processes with one device each"},
      {"b", "", "batch_per_worker", Align::kRight, "batch per worker"},
      {"B", "", "global_batch", Align::kRight, "global batch N b A"},
      {"strategy", "", "strategy", Align::kLeft, "how gradients are synchronised"},
      {"epochs", "", "epochs", Align::kRight, "finished / requested"},
      {"examples/s", "", "examples_per_s", Align::kRight,
       "of all workers, mean over the finished epochs"},
      {"val acc", "", "val_accuracy", Align::kRight, "after the last finished epoch"},
      {"status", "", "status", Align::kLeft, "killed: its end was not recorded"},
      {"started", "", "started_wall_s", Align::kLeft, "local time; seconds since 1970 in data"},
      {"total", "", "total_s", Align::kRight, "from start to end, validation included"}};
  bool unreliable = false;
  for (const store::RunSummary& run : runs) {
    unreliable |= run.spec.oversubscribed;
    const Cell speed = rate(store::mean_rate(run));
    table.rows.push_back(
        {count(run.id), recipe_label(run.spec), known(run.spec.workers),
         known(run.spec.batch_per_worker), known(run.spec.global_batch()),
         std::string(record::name_of(run.spec.strategy)), epochs_done(run),
         run.spec.oversubscribed && speed.number ? Cell(speed.text + "*", *speed.number) : speed,
         decimal(run.last_val_accuracy, 4), std::string(store::state_name(run.state)),
         wall_time(run.started_wall_ns), duration(run.total_s)});
  }
  if (unreliable) table.notes.push_back("* more threads than cores: the timing is unreliable");
  return table;
}

std::string energy_text(const record::RunEnded& ended) {
  if (!std::isfinite(ended.energy_j)) return ended.energy_source;
  return fmt::format("{:.4g} kJ ({:.4g} Wh), mean {:.4g} W, other programs included ({})",
                     ended.energy_j / 1e3, ended.energy_j / 3600, ended.energy_j / ended.total_s,
                     ended.energy_source);
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
  // Another program's run: its options are unknown, and defaults must not be shown in their place.
  const bool foreign = !spec.strategy && !spec.optimizer;
  add("status", std::string(store::state_name(run.summary.state)));
  add("started", wall_time(run.started.started_wall_ns).text);
  if (run.ended) {
    add("ended", wall_time(run.ended->ended_wall_ns).text);
    add("total", duration(run.ended->total_s).text);
    if (run.ended->peak_memory_bytes > 0) {
      add("peak memory", format_bytes({static_cast<std::uint64_t>(run.ended->peak_memory_bytes)}) +
                             " in the largest worker");
    }
    add("parameters digest", run.ended->parameters_digest);
    add("energy", energy_text(*run.ended));
    if (std::isfinite(run.ended->others_cpu)) {
      add("other programs", fmt::format("{:.0f} % of the CPU time", 100 * run.ended->others_cpu));
    }
  }
  add("study", run.summary.label.study);
  add("data", data_text(spec));
  add("workers", workers_text(spec));
  add("workers x threads measured", trials_text(spec.worker_trials));
  if (spec.batch_per_worker > 0) {
    add("batch", spec.workers > 0
                     ? fmt::format("b = {}, B = {}", spec.batch_per_worker, spec.global_batch())
                     : fmt::format("b = {}", spec.batch_per_worker));
  }
  add("epochs", epochs_done(run.summary) +
                    (run.started.first_epoch > 1 && !foreign
                         ? fmt::format(", resumed at epoch {}", run.started.first_epoch)
                         : ""));
  if (!foreign) {
    add("gradients", exchange(spec));
    add("optimizer", optimizer_text(spec));
  } else if (!spec.program_optimizer.empty()) {
    add("optimizer",
        spec.learning_rate > 0
            ? fmt::format("{}, learning rate {}", spec.program_optimizer, spec.learning_rate)
            : spec.program_optimizer);
  }
  if (spec.parameters > 0) add("parameters", format_count(spec.parameters));
  if (!foreign) {
    add("seed", std::to_string(spec.seed));
    add("options", flags(spec));
  }
  add("command", spec.command);
  if (!machine.host.empty()) {
    add("machine",
        fmt::format("{}: {}, {}, {}", machine.host, machine.cpu, counted(machine.cores, "core"),
                    format_bytes({static_cast<std::uint64_t>(machine.memory_bytes)})));
  }
  for (const std::string& gpu : machine.gpus) add("gpu", gpu);
  add("system", machine.system);
  if (!build.version.empty()) {
    add("build", fmt::format("lockstep {}, {}, LibTorch {}, {}", build.version, build.compiler,
                             build.torch, build.blas));
  }
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
                   {"noise scale", "", "noise_scale", Align::kRight,
                    "gradient noise scale in examples, smoothed; roughly the batch beyond which "
                    "larger batches gain little"},
                   {"low", "", "noise_scale_low", Align::kRight, "end of its 95 % interval"},
                   {"high", "", "noise_scale_high", Align::kRight, "end of its 95 % interval"},
                   {"examples/s", "", "examples_per_s", Align::kRight, "examples / train time"},
                   {"train", "s", "train_s", Align::kRight, "first to last training step"},
                   {"val", "s", "val_s", Align::kRight, "validation"}};
  std::set<std::string> metrics;
  for (const record::EpochResult& epoch : epochs) {
    for (const auto& [name, value] : epoch.metrics) metrics.insert(name);
  }
  for (const std::string& name : metrics) table.columns.push_back({name, "", name});
  for (const record::EpochResult& epoch : epochs) {
    table.rows.push_back({count(epoch.epoch), decimal(epoch.train_loss, 4),
                          decimal(epoch.train_accuracy, 4), decimal(epoch.val_loss, 4),
                          decimal(epoch.val_accuracy, 4), significant(epoch.learning_rate),
                          significant(epoch.noise_scale), significant(epoch.noise_scale_low),
                          significant(epoch.noise_scale_high), rate(epoch.examples_per_s),
                          spent(epoch.train_s), spent(epoch.val_s)});
    for (const std::string& name : metrics) {
      const auto found = epoch.metrics.find(name);
      table.rows.back().push_back(
          decimal(found == epoch.metrics.end() ? record::kUnknown : found->second, 4));
    }
  }
  return table;
}

Table utilisation_table(std::span<const record::Utilisation> samples) {
  struct Sums {
    double seconds = 0, cpu = 0, gpu = 0, gpu_seconds = 0;
    std::int64_t resident = 0, gpu_memory = 0;
  };
  std::map<std::int32_t, Sums> ranks;
  for (const record::Utilisation& sample : samples) {
    Sums& sums = ranks[sample.rank];
    sums.seconds += sample.seconds;
    sums.cpu += sample.cpu_cores * sample.seconds;
    sums.resident = std::max(sums.resident, sample.resident_bytes);
    sums.gpu_memory = std::max(sums.gpu_memory, sample.gpu_memory_bytes);
    if (!std::isfinite(sample.gpu)) continue;
    sums.gpu += sample.gpu * sample.seconds;
    sums.gpu_seconds += sample.seconds;
  }
  Table table;
  table.title = "utilisation";
  table.columns = {{"rank", "", "rank"},
                   {"cpu", "cores", "cpu_cores", Align::kRight, "processor time / time; measured"},
                   {"memory", "", "resident_bytes", Align::kRight, "largest resident set sampled"}};
  const bool gpus = std::any_of(ranks.begin(), ranks.end(),
                                [](const auto& rank) { return rank.second.gpu_seconds > 0; });
  if (gpus) {
    table.columns.push_back({"gpu", "%", "gpu", Align::kRight, "time with a kernel running, NVML"});
    table.columns.push_back(
        {"gpu memory", "", "gpu_memory_bytes", Align::kRight, "largest sampled, all processes"});
  }
  const auto size = [](std::int64_t bytes) -> Cell {
    return {format_bytes({static_cast<std::uint64_t>(bytes)}), static_cast<double>(bytes)};
  };
  for (const auto& [rank, sums] : ranks) {
    if (sums.seconds <= 0) continue;
    std::vector<Cell> row{count(rank), decimal(sums.cpu / sums.seconds, 2), size(sums.resident)};
    if (gpus) {
      row.push_back(
          decimal(sums.gpu_seconds > 0 ? 100 * sums.gpu / sums.gpu_seconds : record::kUnknown, 0));
      row.push_back(size(sums.gpu_memory));
    }
    table.rows.push_back(std::move(row));
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

std::string noise_scale_sentence(const record::EpochResult& epoch, std::int64_t global_batch) {
  if (!std::isfinite(epoch.noise_scale)) return "";
  const auto count = [](double value) { return format_count(std::llround(value)); };
  return fmt::format(
      "gradient noise scale {} examples (95 % interval {} to {}), B = {}", count(epoch.noise_scale),
      count(epoch.noise_scale_low),
      std::isfinite(epoch.noise_scale_high) ? count(epoch.noise_scale_high) : "unbounded",
      format_count(global_batch));
}

}  // namespace lockstep::report
