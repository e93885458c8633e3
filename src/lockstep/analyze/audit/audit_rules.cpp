#include "lockstep/analyze/audit/audit_rules.h"

#include <fmt/format.h>

#include "lockstep/analyze/communication.h"

namespace lockstep::analyze {
namespace {

constexpr double kGiga = 1e9;
constexpr double kGibi = 1073741824.0;

/// What is missing for a time on N and on the baseline; empty when both are there.
std::string missing_times(const AuditFacts& facts) {
  if (!facts.configuration.workers) return "the worker count is missing";
  if (!facts.time_n && !facts.rate_n) return "no time was measured in this configuration";
  if (!facts.time_n) return "the number of examples is missing";
  if (!facts.time_one) return "the baseline at the same batch is missing";
  return "";
}

Expectation unknown(std::string reason) {
  return {std::nullopt, std::move(reason), {}};
}

/// T(N0) and T(N), or the times of one example: only their ratio counts.
struct TimesOfRatio {
  double one = 0;
  double all = 0;
  std::string formula;
};

std::optional<TimesOfRatio> times_of_ratio(const AuditFacts& facts) {
  if (!facts.configuration.workers) return std::nullopt;
  const auto n = *facts.configuration.workers;
  if (facts.time_n && facts.time_one) {
    return TimesOfRatio{*facts.time_one, *facts.time_n,
                        fmt::format("T({})/T({}) = {:.5g} / {:.5g}", facts.baseline_workers, n,
                                    *facts.time_one, *facts.time_n)};
  }
  if (facts.rate_n && facts.rate_one) {
    return TimesOfRatio{1 / *facts.rate_one, 1 / *facts.rate_n,
                        fmt::format("throughput({})/throughput({}) = {:.5g} / {:.5g}", n,
                                    facts.baseline_workers, *facts.rate_n, *facts.rate_one)};
  }
  return std::nullopt;
}

Expectation expect_speedup(const AuditFacts& facts) {
  const auto times = times_of_ratio(facts);
  if (!times) return unknown(missing_times(facts));
  const double one = times->one;
  const double all = times->all;
  const double n = static_cast<double>(*facts.configuration.workers) /
                   static_cast<double>(facts.baseline_workers);
  Expectation e;
  e.value = one / all;
  e.formula = times->formula;
  e.slips = {
      {"the ratio is inverted, T(N)/T(1)", all / one},
      {"the scaled form N T(1)/T(N) was reported as the speedup", n * one / all},
      {"the efficiency S/N was reported as the speedup", one / all / n},
      {"1 + the share of time saved, 1 + (T(1) - T(N))/T(1), was reported as the ratio",
       1 + (one - all) / one},
      {"the share of time saved, (T(1) - T(N))/T(1), was reported as the ratio", (one - all) / one},
      {"given in percent", 100 * one / all}};
  if (facts.time_previous) {
    e.slips.push_back(
        {"the next smaller worker count was the baseline, not 1", *facts.time_previous / all});
  }
  for (const double other : facts.other_baselines) {
    e.slips.push_back({"the baseline of another batch was used", other / all});
  }
  return e;
}

Expectation expect_efficiency(const AuditFacts& facts) {
  const auto times = times_of_ratio(facts);
  if (!times) return unknown(missing_times(facts));
  const double n = static_cast<double>(*facts.configuration.workers) /
                   static_cast<double>(facts.baseline_workers);
  const double ratio = times->one / times->all;
  Expectation e;
  e.value = ratio / n;
  e.formula = fmt::format("S/N = {:.5g} / {}", ratio, n);
  e.slips = {{"given in percent", 100 * ratio / n},
             {"the speedup was reported as the efficiency", ratio},
             {"the ratio is inverted", 1 / (ratio * n)}};
  return e;
}

Expectation expect_communication(const AuditFacts& facts) {
  if (const auto missing = missing_times(facts); !missing.empty()) return unknown(missing);
  if (facts.baseline_workers != 1) return unknown("no run on 1 worker at the same batch");
  const double one = *facts.time_one;
  const double all = *facts.time_n;
  const auto n = *facts.configuration.workers;
  Expectation e;
  e.value = *facts.communication();
  e.formula = fmt::format("T({0}) - T(1)/{0} = {1:.5g} - {2:.5g}/{0}", n, all, one);
  e.slips = {{"T(1) was not divided by N", all - one},
             {"the sign is reversed", one / static_cast<double>(n) - all},
             {"the whole time T(N) was used", all},
             {"T(1) - T(N) was used", one - all},
             {"given in milliseconds", 1000 * *e.value}};
  if (const auto steps = facts.steps()) {
    e.slips.push_back({"per step, not per epoch", *e.value / *steps});
  }
  if (const auto bare = facts.configuration.value("epoch_time_without_data")) {
    e.slips.push_back({"the time without data loading was subtracted", all - *bare});
  }
  return e;
}

/// The mistakes of a bandwidth are factors, and two may come together.
void add_bandwidth_slips(Expectation& e, const AuditFacts& facts) {
  const double right = *e.value;
  const double n = static_cast<double>(*facts.configuration.workers);
  const double ring = 2 * (n - 1) / n;
  const std::vector<Slip> units{{"bits were mistaken for bytes", 8.0},
                                {"bytes were mistaken for bits", 1 / 8.0},
                                {"1 GB was taken as 1024^3 bytes", kGiga / kGibi},
                                {"1024^3 bytes were taken as 1 GB", kGibi / kGiga},
                                {"given in MB/s", 1000.0}};
  std::vector<Slip> counts{{"the 4 bytes per parameter were left out", 1 / kBytesPerParameter},
                           {"8 bytes per parameter were counted", 2.0},
                           {"the factor 2 of the ring was left out", 0.5},
                           {"the traffic of all workers was added up", n},
                           {"one step was counted, not an epoch", 1 / facts.steps().value_or(1)},
                           {"the whole epoch T(N) was counted as communication",
                            *facts.communication() / *facts.time_n}};
  // With 2 workers the ring factor is 1: forgetting it changes nothing there.
  if (ring != 1) counts.push_back({"the ring factor 2(N-1)/N was left out", 1 / ring});
  if (facts.reported_communication && *facts.reported_communication > 0) {
    counts.push_back({"the reported communication time was used, which itself does not follow",
                      *facts.communication() / *facts.reported_communication});
  }
  for (const auto& slips : {counts, units}) {
    for (const Slip& slip : slips) e.slips.push_back({slip.name, right * slip.value});
  }
  for (const Slip& a : counts) {
    for (const Slip& b : units) {
      e.slips.push_back({a.name + ", and " + b.name, right * a.value * b.value});
    }
  }
}

Expectation expect_bandwidth(const AuditFacts& facts) {
  if (const auto missing = missing_times(facts); !missing.empty()) return unknown(missing);
  if (facts.baseline_workers != 1) return unknown("no run on 1 worker at the same batch");
  if (!facts.steps()) return unknown("the number of examples or the global batch is missing");
  if (*facts.communication() <= 0)
    return unknown("the derived communication time is not above zero");
  if (!facts.configuration.parameters) {
    return unknown("the model's parameter count is not in the table");
  }
  const double bytes = gradient_bytes(*facts.configuration.parameters);
  const auto n = *facts.configuration.workers;
  Expectation e;
  e.value = ring_bytes(bytes, n) * *facts.steps() / *facts.communication() / kGiga;
  e.formula = fmt::format("2({0}-1)/{0} x {1} parameters x 4 B x {2} steps / {3:.5g} s", n,
                          *facts.configuration.parameters, *facts.steps(), *facts.communication());
  add_bandwidth_slips(e, facts);
  return e;
}

Expectation expect_throughput(const AuditFacts& facts) {
  if (!facts.time_n) return unknown("no time was measured in this configuration");
  if (!facts.configuration.examples) return unknown("the number of examples is missing");
  const double examples = static_cast<double>(*facts.configuration.examples);
  const double n = static_cast<double>(facts.configuration.workers.value_or(1));
  Expectation e;
  e.value = examples / *facts.time_n;
  e.formula = fmt::format("{} examples / {:.5g} s", *facts.configuration.examples, *facts.time_n);
  e.slips = {{"per worker, not of all workers", *e.value / n},
             {"multiplied by the worker count once too often", *e.value * n},
             {"the ratio is inverted", *facts.time_n / examples}};
  return e;
}

Expectation expect_total_time(const AuditFacts& facts) {
  const auto epoch = facts.configuration.value("epoch_time");
  if (!epoch || !facts.configuration.epochs)
    return unknown("the epoch time or the number of epochs is missing");
  Expectation e;
  e.value = *epoch * static_cast<double>(*facts.configuration.epochs);
  e.formula = fmt::format("{} epochs x {:.5g} s", *facts.configuration.epochs, *epoch);
  e.slips = {{"given in minutes", *e.value / 60},
             {"the time of one epoch was reported for all", *epoch}};
  return e;
}

}  // namespace

std::optional<double> AuditFacts::communication() const {
  if (!time_n || !time_one || !configuration.workers) return std::nullopt;
  return derived_communication(*time_one, *time_n, *configuration.workers);
}

std::optional<double> AuditFacts::steps() const {
  const auto count = configuration.steps_per_epoch();
  return count ? std::optional(static_cast<double>(*count)) : std::nullopt;
}

Expectation expect(const std::string& metric, const AuditFacts& facts) {
  if (metric == "speedup") return expect_speedup(facts);
  if (metric == "efficiency") return expect_efficiency(facts);
  if (metric == "communication_time") return expect_communication(facts);
  if (metric == "bandwidth" || metric == "busbw") return expect_bandwidth(facts);
  if (metric == "throughput") return expect_throughput(facts);
  if (metric == "total_time") return expect_total_time(facts);
  return unknown(fmt::format("no formula for {}", metric));
}

}  // namespace lockstep::analyze
