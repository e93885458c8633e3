#include "simulate_failures.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/base/quantities.h"

namespace lockstep::cli {
namespace {

/// Beyond so many missing hosts the speed is that of the last one worked out.
constexpr std::int64_t kMostMissing = 32;

double job_seconds(const simulate::SimulatedPoint& point, const simulate::StepSource& source,
                   const FailureOptions& options) {
  if (!options.work.empty()) return parse_duration(options.work, "--work");
  const double examples = options.examples > 0 ? options.examples : source.train_examples;
  if (!(options.epochs > 0) || !(examples > 0) || !point.examples_per_s) {
    throw Error(ErrorKind::kUsage, "--mttf needs the length of the job",
                "give --epochs 90 --examples 1281167 --batch 64, or --work 30d");
  }
  return options.epochs * examples / point.examples_per_s->value;
}

/// Speed with 0, 1, 2, ... hosts missing, relative to all of them.
std::vector<double> speeds_with_missing(const simulate::SimulatedScaling& scaling,
                                        const simulate::SimulatedPoint& all,
                                        std::int64_t least_hosts,
                                        const simulate::NetworkEngine& engine) {
  const std::int64_t per_host = scaling.scenario.cluster.per_host;
  std::vector<double> speeds{1};
  const std::int64_t most = std::min(all.hosts - least_hosts, kMostMissing);
  for (std::int64_t missing = 1; missing <= most; ++missing) {
    const std::int64_t workers = all.workers - missing * per_host;
    const auto point = simulate::simulate_workers(scaling.scenario, workers, engine);
    speeds.push_back(static_cast<double>(workers) / static_cast<double>(all.workers) *
                     all.parts.step_s / point.parts.step_s);
  }
  return speeds;
}

simulate::FailingJob job_of(const simulate::SimulatedPoint& point, std::int64_t per_host,
                            const simulate::StepSource& source, const FailureOptions& options) {
  simulate::FailingJob job;
  job.work_s = job_seconds(point, source, options);
  job.hosts = point.hosts;
  job.least_hosts = point.hosts;
  job.host_mttf_s = parse_duration(options.mttf, "--mttf") /
                    static_cast<double>(std::min(per_host, point.workers));
  job.checkpoint_s = parse_duration(options.checkpoint, "--checkpoint");
  job.restart_s = parse_duration(options.restart, "--restart");
  if (!options.repair.empty()) job.repair_s = parse_duration(options.repair, "--repair");
  return job;
}

}  // namespace

void add_failure_options(CLI::App& command, FailureOptions& options) {
  command.add_option("--mttf", options.mttf,
                     "Mean time to a failure of one worker: adds time and cost of a job");
  command.add_option("--checkpoint", options.checkpoint, "Time that training stops for one")
      ->capture_default_str();
  command.add_option("--restart", options.restart, "From a failure until training goes on")
      ->capture_default_str();
  command.add_option("--repair", options.repair,
                     "Until a failed host is replaced (default: a spare stands by)");
  command.add_option("--interval", options.interval,
                     "Training between checkpoints (default: Daly's)");
  command
      .add_option("--min-workers", options.min_workers,
                  "Training goes on with as few, until failed hosts are replaced")
      ->check(CLI::Range(1, 1'000'000));
  command.add_option("--epochs", options.epochs, "Of the job")->check(CLI::PositiveNumber);
  command.add_option("--examples", options.examples, "Of one epoch (default: the run's)")
      ->check(CLI::PositiveNumber);
  command.add_option("--work", options.work, "Time of the job without failures: 30d");
  command.add_option("--price", options.price, "Of one worker and hour")
      ->check(CLI::NonNegativeNumber);
}

std::vector<report::FailureRow> simulate_failures(const simulate::SimulatedScaling& scaling,
                                                  const simulate::StepSource& source,
                                                  const FailureOptions& options,
                                                  const simulate::NetworkEngine& engine) {
  const std::int64_t per_host = scaling.scenario.cluster.per_host;
  const std::uint64_t seed = scaling.scenario.cluster.seed;
  std::vector<report::FailureRow> rows;
  for (const simulate::SimulatedPoint& point : scaling.points) {
    report::FailureRow row;
    row.workers = point.workers;
    row.job = job_of(point, per_host, source, options);
    row.price_per_host_hour =
        options.price * static_cast<double>(std::min(per_host, point.workers));
    row.best_interval_s = simulate::best_interval_s(row.job, seed);
    const double interval = options.interval.empty()
                                ? simulate::daly_interval_s(row.job)
                                : parse_duration(options.interval, "--interval");
    row.waits = simulate::simulate_job(row.job, interval, seed);
    if (options.min_workers > 0 && options.min_workers < point.workers) {
      if (row.job.repair_s <= 0) {
        throw Error(ErrorKind::kUsage, "--min-workers has no effect where a spare stands by",
                    "add the time until a failed host is replaced: --repair 4h");
      }
      simulate::FailingJob fewer = row.job;
      fewer.least_hosts =
          std::max<std::int64_t>((options.min_workers + per_host - 1) / per_host, 1);
      fewer.speed = speeds_with_missing(scaling, point, fewer.least_hosts, engine);
      row.goes_on = simulate::simulate_job(fewer, interval, seed);
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace lockstep::cli
