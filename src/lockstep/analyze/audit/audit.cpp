#include "lockstep/analyze/audit/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "lockstep/analyze/audit/audit_rules.h"
#include "lockstep/analyze/communication.h"
#include "lockstep/base/units.h"

namespace lockstep::analyze {
namespace {

using record::Measurement;

constexpr std::string_view kPrefix = "reported_";

/// Half a unit of the last digit that the figure was given with.
double rounding(double value) {
  const std::string text = fmt::format("{}", value);
  if (text.find_first_of("en") != std::string::npos) return 0;
  const std::size_t point = text.find('.');
  const std::size_t decimals = point == std::string::npos ? 0 : text.size() - point - 1;
  return 0.5 * std::pow(10.0, -static_cast<double>(decimals));
}

bool agrees(double reported, double expected, double relative) {
  return std::fabs(reported - expected) <= rounding(reported) + relative * std::fabs(expected);
}

/// A reported row, what it should be, and where that goes in the end.
struct Case {
  AuditFinding finding;
  AuditFacts facts;
  Expectation expectation;
};

class Auditor {
 public:
  Auditor(std::span<const Measurement> rows, const AuditOptions& options) : options_(options) {
    distinguishing_ = distinguishing_settings(rows);
    groups_ = speedups(configurations(rows));
    for (const Measurement& row : rows) {
      if (row.metric.starts_with(kPrefix)) cases_.push_back(make_case(row, rows));
    }
  }

  Audit run() {
    std::map<std::string, std::vector<Case*>> by_metric;
    for (Case& c : cases_) by_metric[c.finding.metric].push_back(&c);
    Audit result;
    for (auto& [metric, cases] : by_metric) {
      for (Case* c : cases) check(*c);
      std::vector<std::string> remarks;
      check_without_parameters(cases, remarks);
      name_slips(cases);
      summarise(metric, cases, result.summary);
      result.summary.insert(result.summary.end(), remarks.begin(), remarks.end());
    }
    for (Case& c : cases_) result.findings.push_back(std::move(c.finding));
    return result;
  }

 private:
  Case make_case(const Measurement& row, std::span<const Measurement> rows) const {
    Case c;
    c.finding.line = row.line;
    c.finding.metric = row.metric.substr(kPrefix.size());
    c.finding.reported = row.value;
    c.finding.unit = row.unit;
    c.facts = facts_of(row);
    c.finding.configuration = c.facts.configuration.label();
    for (const Measurement& other : rows) {
      if (other.metric == "reported_communication_time" && same_configuration(row, other)) {
        c.facts.reported_communication = other.value;
      }
    }
    c.expectation = expect(c.finding.metric, c.facts);
    return c;
  }

  static bool same_configuration(const Measurement& a, const Measurement& b) {
    return a.model == b.model && a.dataset == b.dataset && a.device == b.device &&
           a.workers == b.workers && a.global_batch == b.global_batch &&
           a.batch_per_worker == b.batch_per_worker && a.epochs == b.epochs;
  }

  AuditFacts facts_of(const Measurement& row) const {
    AuditFacts facts;
    facts.configuration = configuration_of(row, distinguishing_);
    facts.configuration.parameters = options_.parameters;
    for (const SpeedupGroup& group : groups_) {
      for (const SpeedupPoint& point : group.points) {
        if (same_place(point.configuration, facts.configuration)) {
          fill_times(facts, group, point);
          return facts;
        }
      }
    }
    return facts;
  }

  static bool same_place(const Configuration& a, const Configuration& b) {
    return a.model == b.model && a.dataset == b.dataset && a.device == b.device &&
           a.variant == b.variant && a.epochs == b.epochs && a.workers == b.workers &&
           a.global_batch == b.global_batch && a.batch_per_worker == b.batch_per_worker;
  }

  /// Where a table has no batches, its own ratios are to its smallest count.
  static std::optional<std::int64_t> baseline_of(const SpeedupGroup& group) {
    if (group.scaling != Scaling::kUnstated) return group.baseline_workers;
    std::optional<std::int64_t> smallest;
    for (const SpeedupPoint& point : group.points) {
      const auto workers = point.configuration.workers;
      if (workers && (!smallest || *workers < *smallest)) smallest = workers;
    }
    return smallest;
  }

  static bool comparable(const SpeedupGroup& group, const Configuration& a,
                         const Configuration& b) {
    return !unlike(a, b, group.scaling);
  }

  void fill_times(AuditFacts& facts, const SpeedupGroup& group, const SpeedupPoint& point) const {
    facts.configuration = point.configuration;
    if (options_.parameters) facts.configuration.parameters = options_.parameters;
    facts.time_n = point.time_s;
    facts.rate_n = point.examples_per_s;
    const auto baseline = baseline_of(group);
    if (!baseline) return;
    facts.baseline_workers = *baseline;
    std::int64_t previous = 0;
    for (const SpeedupPoint& other : group.points) {
      if (!other.configuration.workers) continue;
      const bool alike = comparable(group, other.configuration, point.configuration);
      const std::int64_t workers = *other.configuration.workers;
      if (workers == *baseline && alike) facts.rate_one = other.examples_per_s;
      if (!other.time_s) continue;
      if (workers == *baseline) {
        if (alike) {
          facts.time_one = other.time_s;
        } else {
          facts.other_baselines.push_back(*other.time_s);
        }
      } else if (alike && workers < *point.configuration.workers && workers > previous) {
        previous = workers;
        facts.time_previous = other.time_s;
      }
    }
  }

  static void check(Case& c) {
    c.finding.expected = c.expectation.value;
    c.finding.formula = c.expectation.formula;
    if (!c.expectation.value) return;
    c.finding.outcome = agrees(c.finding.reported, *c.expectation.value, 0.005)
                            ? AuditOutcome::kFollows
                            : AuditOutcome::kDoesNotFollow;
  }

  /// Without the model's size a bandwidth still implies one: GB/s x s / (steps x 2(N-1)/N x 4 B).
  /// All rows of a model must imply the same.
  static void check_without_parameters(const std::vector<Case*>& cases,
                                       std::vector<std::string>& summary) {
    std::map<std::string, std::vector<Case*>> by_model;
    for (Case* c : cases) {
      const auto communication = c->facts.communication();
      if (c->finding.metric != "bandwidth" || c->facts.configuration.parameters || !communication ||
          *communication <= 0 || !c->facts.steps()) {
        continue;
      }
      by_model[c->facts.configuration.model].push_back(c);
    }
    for (auto& [model, members] : by_model) {
      double low = std::numeric_limits<double>::infinity();
      double high = 0;
      for (const Case* c : members) {
        const double implied = implied_parameters(*c, *c->facts.communication());
        low = std::min(low, implied);
        high = std::max(high, implied);
      }
      if (members.size() < 2 || high <= low * 1.1) continue;
      for (Case* c : members) {
        c->finding.outcome = AuditOutcome::kDoesNotFollow;
        c->finding.formula =
            fmt::format("implies {} parameters in {:.4g} s of derived communication",
                        rounded_count(implied_parameters(*c, *c->facts.communication())),
                        *c->facts.communication());
      }
      summary.push_back(fmt::format(
          "bandwidth: together they imply {} to {} parameters for {}, which has only one size",
          rounded_count(low), rounded_count(high), model));
    }
  }

  /// Three digits, written out: 162,000.
  static std::string rounded_count(double value) {
    return format_count(std::llround(std::stod(fmt::format("{:.2e}", value))));
  }

  static double implied_parameters(const Case& c, double communication_s) {
    const double per_parameter = ring_bytes(kBytesPerParameter, *c.facts.configuration.workers);
    return c.finding.reported * 1e9 * communication_s / (*c.facts.steps() * per_parameter);
  }

  /// Of the slips that give a figure, the one that gives most figures of the metric; the closest of
  /// equals.
  static void name_slips(const std::vector<Case*>& cases) {
    std::map<std::string, int> explained;
    for (const Case* c : cases) {
      for (const Slip* slip : matching(*c)) ++explained[slip->name];
    }
    for (Case* c : cases) {
      const Slip* best = nullptr;
      const auto rank = [&](const Slip& slip) {
        return std::pair(explained[slip.name], -std::fabs(slip.value - c->finding.reported));
      };
      for (const Slip* slip : matching(*c)) {
        if (best == nullptr || rank(*slip) > rank(*best)) best = slip;
      }
      if (best != nullptr) c->finding.slip = best->name;
    }
  }

  static std::vector<const Slip*> matching(const Case& c) {
    std::vector<const Slip*> found;
    if (c.finding.outcome != AuditOutcome::kDoesNotFollow) return found;
    for (const Slip& slip : c.expectation.slips) {
      if (agrees(c.finding.reported, slip.value, 0.01)) found.push_back(&slip);
    }
    return found;
  }

  static void summarise(const std::string& metric, const std::vector<Case*>& cases,
                        std::vector<std::string>& summary) {
    std::size_t wrong = 0;
    std::size_t unchecked = 0;
    double low = std::numeric_limits<double>::infinity();
    double high = 0;
    std::map<std::string, int> slips;
    for (const Case* c : cases) {
      unchecked += c->finding.outcome == AuditOutcome::kUnchecked;
      if (c->finding.outcome != AuditOutcome::kDoesNotFollow) continue;
      ++wrong;
      if (!c->finding.slip.empty()) ++slips[c->finding.slip];
      if (const auto factor = c->finding.factor()) {
        low = std::min(low, *factor);
        high = std::max(high, *factor);
      }
    }
    const std::size_t checked = cases.size() - unchecked;
    if (wrong == 0 && checked > 0) {
      summary.push_back(
          fmt::format("{}: all {} checked follow from the measurements", metric, checked));
    }
    if (wrong > 0) {
      std::string text =
          wrong == checked
              ? fmt::format("{}: none of the {} follows from the measurements", metric, wrong)
              : fmt::format("{}: {} of {} do not follow from the measurements", metric, wrong,
                            checked);
      if (high > 0) text += ", " + factor_text(low, high);
      for (const auto& [slip, count] : slips) {
        text += fmt::format("; likely slip in {} of {}: {}", count, wrong, slip);
      }
      summary.push_back(text);
    }
    if (unchecked > 0) {
      summary.push_back(
          fmt::format("{}: {} of {} could not be checked", metric, unchecked, cases.size()));
    }
  }

  /// "4.00x too low", "1.04x to 1.51x too low", "from 1.2x too low to 3.0x too high".
  static std::string factor_text(double low, double high) {
    if (low <= 0) return "some with the wrong sign";
    if (high < 1) {
      const std::string a = fmt::format("{:.2f}x", 1 / high);
      const std::string b = fmt::format("{:.2f}x", 1 / low);
      return (a == b ? a : a + " to " + b) + " too low";
    }
    if (low > 1) {
      const std::string a = fmt::format("{:.2f}x", low);
      const std::string b = fmt::format("{:.2f}x", high);
      return (a == b ? a : a + " to " + b) + " too high";
    }
    return fmt::format("from {:.2f}x too low to {:.2f}x too high", 1 / low, high);
  }

  AuditOptions options_;
  std::set<std::string> distinguishing_;
  std::vector<SpeedupGroup> groups_;
  std::vector<Case> cases_;
};

}  // namespace

std::optional<double> AuditFinding::factor() const {
  if (!expected || *expected == 0) return std::nullopt;
  return reported / *expected;
}

std::size_t Audit::count(AuditOutcome outcome) const {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [&](const AuditFinding& finding) { return finding.outcome == outcome; }));
}

Audit audit(std::span<const Measurement> rows, const AuditOptions& options) {
  return Auditor(rows, options).run();
}

}  // namespace lockstep::analyze
