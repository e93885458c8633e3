#include "lockstep/simulate/failures.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "lockstep/base/rng.h"
#include "lockstep/base/statistics.h"

namespace lockstep::simulate {
namespace {

/// A job that takes so many times its work will not finish.
constexpr double kHopeless = 200;
constexpr double kMostFailures = 200'000;
/// A job of more failures is simulated in part: so many are as good as a mean.
constexpr double kEnoughFailures = 20'000;

/// One job, event by event. Failures have no memory, so the next one may be drawn again whenever
/// the number of hosts changes.
class JobRun {
 public:
  JobRun(const FailingJob& job, double interval_s, Rng rng)
      : job_(job), interval_s_(interval_s), rng_(rng) {}

  void run() {
    double left = job_.work_s;
    while (left > 0 && !hopeless()) {
      take_back_repaired();
      left = train(left);
    }
    finished_ = left <= 0;
  }

  double total_s() const { return now_; }
  double failures() const { return failures_; }
  double host_seconds() const { return host_seconds_; }
  bool finished() const { return finished_; }

 private:
  /// Trains until the work is done, a host fails or, where some are missing, the first checkpoint
  /// at which one of them is back. Returns the work that is left after the last checkpoint.
  double train(double left) {
    const double speed = speed_now();
    const double all = std::ceil(left / speed / interval_s_ * (1 - 1e-12));
    const double whole_s = interval_s_ + job_.checkpoint_s;
    const double stretches = std::min(all, stretches_until_repaired(whole_s, all));
    const bool to_the_end = stretches == all;
    // The last stretch needs no checkpoint.
    const double seconds =
        to_the_end ? left / speed + (all - 1) * job_.checkpoint_s : stretches * whole_s;
    const double begin = now_;
    if (survives(seconds)) return to_the_end ? 0 : left - stretches * interval_s_ * speed;
    const double saved = std::min(std::floor((now_ - begin) / whole_s), all - 1);
    fail();
    return left - saved * interval_s_ * speed;
  }

  double stretches_until_repaired(double whole_s, double without_repairs) const {
    if (repairs_.empty()) return without_repairs;
    return std::max(std::ceil((repairs_.front() - now_) / whole_s), 1.0);
  }

  std::int64_t hosts_left() const {
    return job_.hosts - static_cast<std::int64_t>(repairs_.size());
  }

  bool hopeless() const { return now_ > kHopeless * job_.work_s || failures_ > kMostFailures; }

  double speed_now() const { return job_.speed[std::min(repairs_.size(), job_.speed.size() - 1)]; }

  void pass(double seconds) {
    now_ += seconds;
    host_seconds_ += seconds * static_cast<double>(hosts_left());
  }

  /// Lets time pass up to the next failure, at most `seconds`; whether none came.
  bool survives(double seconds) {
    const double next = -std::log1p(-rng_.uniform()) * job_.host_mttf_s /
                        static_cast<double>(std::max<std::int64_t>(hosts_left(), 1));
    pass(std::min(next, seconds));
    return next >= seconds;
  }

  void lose_host() {
    ++failures_;
    if (job_.repair_s > 0) repairs_.push_back(now_ + job_.repair_s);
  }

  void restart() {
    do {
      while (hosts_left() < job_.least_hosts) {
        pass(std::max(repairs_.front() - now_, 0.0));
        repairs_.pop_front();
      }
      if (survives(job_.restart_s)) return;
      lose_host();
    } while (!hopeless());
  }

  void fail() {
    lose_host();
    restart();
  }

  /// Hosts join at a checkpoint, all that are ready at once.
  void take_back_repaired() {
    if (repairs_.empty() || repairs_.front() > now_) return;
    while (!repairs_.empty() && repairs_.front() <= now_) repairs_.pop_front();
    restart();
  }

  const FailingJob& job_;
  double interval_s_;
  Rng rng_;
  double now_ = 0;
  double failures_ = 0;
  double host_seconds_ = 0;
  bool finished_ = false;
  std::deque<double> repairs_;  ///< when the missing hosts will be back, ascending
};

}  // namespace

double daly_interval_s(const FailingJob& job) {
  const double m = job.mttf_s();
  const double c = job.checkpoint_s;
  if (c >= 2 * m) return m;
  const double x = std::sqrt(c / (2 * m));
  return std::sqrt(2 * c * m) * (1 + x / 3 + x * x / 9) - c;
}

double daly_goodput(const FailingJob& job, double interval_s) {
  const double m = job.mttf_s();
  return interval_s /
         (m * std::exp(job.restart_s / m) * std::expm1((interval_s + job.checkpoint_s) / m));
}

JobOutcome simulate_job(const FailingJob& asked, double interval_s, std::uint64_t seed,
                        int repetitions) {
  FailingJob job = asked;
  job.work_s = std::min(asked.work_s, kEnoughFailures * asked.mttf_s());
  const double parts = asked.work_s / job.work_s;
  JobOutcome outcome;
  outcome.interval_s = interval_s;
  std::vector<double> totals;
  for (int i = 0; i < repetitions; ++i) {
    JobRun run(job, interval_s, Rng(seed, 0xfa11, static_cast<std::uint64_t>(i)));
    run.run();
    totals.push_back(parts * run.total_s());
    outcome.failures += parts * run.failures() / repetitions;
    outcome.host_seconds += parts * run.host_seconds() / repetitions;
    outcome.finished = outcome.finished && run.finished();
    if (!run.finished()) break;
  }
  outcome.total_s = {summarize(totals).mean, quantile(totals, 0.05), quantile(totals, 0.95)};
  outcome.goodput = outcome.finished ? asked.work_s / outcome.total_s.value : 0;
  return outcome;
}

std::optional<double> best_interval_s(const FailingJob& job, std::uint64_t seed) {
  // One long job with many failures; a spare stands by, as in Daly's formula.
  FailingJob steady = job;
  steady.repair_s = 0;
  steady.least_hosts = job.hosts;
  steady.speed = {1.0};
  steady.work_s = 4000 * job.mttf_s();
  const double daly = daly_interval_s(job);
  std::optional<double> best;
  double best_goodput = 0;
  for (int i = -24; i <= 24; ++i) {
    const double interval = daly * std::pow(8.0, i / 24.0);
    const double goodput = simulate_job(steady, interval, seed, 5).goodput;
    if (goodput <= best_goodput) continue;
    best_goodput = goodput;
    best = interval;
  }
  return best;
}

}  // namespace lockstep::simulate
