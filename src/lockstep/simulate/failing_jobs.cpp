#include "lockstep/simulate/failing_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/simulate/settings.h"

namespace lockstep::simulate {
namespace {

/// By which the numbers of missing hosts grow whose speed is simulated; between them it is
/// interpolated.
constexpr double kMissingGrowth = 1.25;

double duration_of(const std::string& text, const char* usual, const char* option) {
  return parse_time_or_zero(text.empty() ? usual : text, option);
}

double job_seconds(const SimulatedPoint& point, const StepSource& source,
                   const FailureSettings& settings) {
  if (!settings.work.empty()) return parse_time(settings.work, "--work");
  const double examples = settings.examples > 0 ? settings.examples : source.train_examples;
  if (!(settings.epochs > 0) || !(examples > 0) || !point.examples_per_s) {
    throw Error(ErrorKind::kUsage, "--mttf needs the length of the job",
                "give --epochs 90 --examples 1281167 --batch 64, or --work 30d");
  }
  return settings.epochs * examples / point.examples_per_s->value;
}

/// Speed with 0, 1, 2, ... hosts missing, relative to all of them.
std::vector<double> speeds_with_missing(const SimulatedScaling& scaling, const SimulatedPoint& all,
                                        std::int64_t least_hosts, const NetworkEngine& engine) {
  const std::int64_t per_host = scaling.scenario.cluster.per_host;
  const std::int64_t most = all.hosts - least_hosts;
  std::vector<double> speeds{1};
  while (std::ssize(speeds) <= most) {
    const std::int64_t known = std::ssize(speeds) - 1;
    const double next = std::ceil(kMissingGrowth * static_cast<double>(known));
    const auto missing = std::clamp(static_cast<std::int64_t>(next), known + 1, most);
    const std::int64_t workers = all.workers - missing * per_host;
    const SimulatedPoint point = simulate_workers(scaling.scenario, workers, engine);
    const double speed = static_cast<double>(workers) / static_cast<double>(all.workers) *
                         all.parts.step_s / point.parts.step_s;
    const double step = (speed - speeds.back()) / static_cast<double>(missing - known);
    while (std::ssize(speeds) <= missing) speeds.push_back(speeds.back() + step);
  }
  return speeds;
}

FailingJob job_of(const SimulatedPoint& point, std::int64_t per_host, const StepSource& source,
                  const FailureSettings& settings) {
  FailingJob job;
  job.work_s = job_seconds(point, source, settings);
  job.hosts = point.hosts;
  job.least_hosts = point.hosts;
  job.host_mttf_s =
      parse_time(settings.mttf, "--mttf") / static_cast<double>(std::min(per_host, point.workers));
  job.checkpoint_s = duration_of(settings.checkpoint, kUsualCheckpoint, "--checkpoint");
  if (job.checkpoint_s == 0) {
    throw Error(ErrorKind::kUsage,
                "--checkpoint 0s: a checkpoint that costs nothing has no best interval",
                "give the time that a checkpoint stops training: 60s, or 1ms");
  }
  job.restart_s = duration_of(settings.restart, kUsualRestart, "--restart");
  job.repair_s = duration_of(settings.repair, "0s", "--repair");
  return job;
}

/// What would be read and not used.
void refuse_without_effect(const FailureSettings& settings) {
  const std::pair<const char*, bool> given[] = {{"--checkpoint", !settings.checkpoint.empty()},
                                                {"--restart", !settings.restart.empty()},
                                                {"--repair", !settings.repair.empty()},
                                                {"--interval", !settings.interval.empty()},
                                                {"--work", !settings.work.empty()},
                                                {"--epochs", settings.epochs > 0},
                                                {"--examples", settings.examples > 0},
                                                {"--min-workers", settings.min_workers > 0},
                                                {"--price", settings.price > 0}};
  for (const auto& [option, is_given] : given) {
    if (!is_given) continue;
    throw Error(ErrorKind::kUsage, fmt::format("{} has no effect without failures", option),
                "add the mean time to a failure of one worker: --mttf 50000h");
  }
}

void check_least_workers(const SimulatedScaling& scaling, const FailureSettings& settings) {
  if (settings.min_workers == 0) return;
  if (settings.min_workers > scaling.points.back().workers) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--min-workers {} is more than the {} workers of the largest count",
                            settings.min_workers, scaling.points.back().workers),
                "give fewer, or larger --workers");
  }
  if (settings.repair.empty()) {
    throw Error(ErrorKind::kUsage, "--min-workers has no effect where a spare is ready",
                "add the time until a failed host is replaced: --repair 4h");
  }
}

JobForecast forecast(const SimulatedScaling& scaling, const SimulatedPoint& point,
                     const StepSource& source, const FailureSettings& settings,
                     const NetworkEngine& engine) {
  const std::int64_t per_host = scaling.scenario.cluster.per_host;
  const std::uint64_t seed = scaling.scenario.cluster.seed;
  JobForecast result;
  result.workers = point.workers;
  result.job = job_of(point, per_host, source, settings);
  result.price_per_host_hour =
      settings.price * static_cast<double>(std::min(per_host, point.workers));
  result.best_interval_s = best_interval_s(result.job, seed);
  const double interval = settings.interval.empty() ? daly_interval_s(result.job)
                                                    : parse_time(settings.interval, "--interval");
  result.waits = simulate_job(result.job, interval, seed);
  if (settings.min_workers > 0 && settings.min_workers < point.workers) {
    FailingJob fewer = result.job;
    fewer.least_hosts = std::max<std::int64_t>((settings.min_workers + per_host - 1) / per_host, 1);
    fewer.speed = speeds_with_missing(scaling, point, fewer.least_hosts, engine);
    result.goes_on = simulate_job(fewer, interval, seed);
  }
  return result;
}

}  // namespace

std::vector<JobForecast> forecast_jobs(const SimulatedScaling& scaling, const StepSource& source,
                                       const FailureSettings& settings,
                                       const NetworkEngine& engine) {
  if (settings.mttf.empty()) {
    refuse_without_effect(settings);
    return {};
  }
  check_least_workers(scaling, settings);
  std::vector<JobForecast> jobs;
  for (const SimulatedPoint& point : scaling.points) {
    jobs.push_back(forecast(scaling, point, source, settings, engine));
  }
  return jobs;
}

}  // namespace lockstep::simulate
