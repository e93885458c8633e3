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
  /// Trains until the work is done, a host fails or, where some are missing, the next checkpoint.
  /// Returns the work that is left after the last checkpoint.
  double train(double left) {
    const double speed = speed_now();
    const double stretches = std::ceil(left / speed / interval_s_ * (1 - 1e-12));
    const bool to_the_end = repairs_.empty() || stretches <= 1;
    const double whole_s = interval_s_ + job_.checkpoint_s;
    // The last stretch needs no checkpoint.
    const double seconds =
        to_the_end ? left / speed + (stretches - 1) * job_.checkpoint_s : whole_s;
    const double begin = now_;
    if (survives(seconds)) return to_the_end ? 0 : left - interval_s_ * speed;
    const double saved = std::min(std::floor((now_ - begin) / whole_s), stretches - 1);
    fail();
    return left - saved * interval_s_ * speed;
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

JobOutcome simulate_job(const FailingJob& job, double interval_s, std::uint64_t seed,
                        int repetitions) {
  JobOutcome outcome;
  outcome.interval_s = interval_s;
  std::vector<double> totals;
  for (int i = 0; i < repetitions; ++i) {
    JobRun run(job, interval_s, Rng(seed, 0xfa11, static_cast<std::uint64_t>(i)));
    run.run();
    totals.push_back(run.total_s());
    outcome.failures += run.failures() / repetitions;
    outcome.host_seconds += run.host_seconds() / repetitions;
    outcome.finished = outcome.finished && run.finished();
    if (!run.finished()) break;
  }
  outcome.total_s = {summarize(totals).mean, quantile(totals, 0.05), quantile(totals, 0.95)};
  outcome.goodput = outcome.finished ? job.work_s / outcome.total_s.value : 0;
  return outcome;
}

double best_interval_s(const FailingJob& job, std::uint64_t seed) {
  // One long job with many failures; a spare stands by, as in Daly's formula.
  FailingJob steady = job;
  steady.repair_s = 0;
  steady.least_hosts = job.hosts;
  steady.speed = {1.0};
  steady.work_s = 4000 * job.mttf_s();
  const double daly = daly_interval_s(job);
  double best = daly;
  double best_goodput = -1;
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
