#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "lockstep/report/advice_tables.h"
#include "lockstep/report/page/views.h"
#include "lockstep/report/study_columns.h"

namespace lockstep::report {
namespace {

using advise::Candidate;
using predict::Estimate;

/// The candidates of one series by worker count.
std::vector<const Candidate*> of_series(const JobAdvice& job, std::size_t series) {
  std::vector<const Candidate*> found;
  for (const Candidate& one : job.candidates) {
    if (one.series == series) found.push_back(&one);
  }
  std::sort(found.begin(), found.end(),
            [](const Candidate* a, const Candidate* b) { return a->workers < b->workers; });
  return found;
}

/// The first of them, and in any case the one of the choice.
std::vector<std::size_t> drawn_series(const JobAdvice& job) {
  std::vector<std::size_t> drawn;
  for (std::size_t s = 0; s < job.series.size() && drawn.size() < kMostLines; ++s) {
    drawn.push_back(s);
  }
  const std::size_t chosen = job.chosen().series;
  if (chosen >= drawn.size()) drawn.back() = chosen;
  return drawn;
}

void add_lines(LineChart& chart, const JobAdvice& job, bool cost) {
  const auto value = [cost](const Candidate& one) -> const Estimate& {
    return cost ? one.cost : one.time_s;
  };
  for (const std::size_t s : drawn_series(job)) {
    Series measured{job.labels[s], Role::kMeasured, true, {}};
    Series predicted{job.labels[s], Role::kPredicted, true, {}};
    const auto candidates = of_series(job, s);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Candidate& one = *candidates[i];
      const Estimate& v = value(one);
      if (one.measured()) measured.points.push_back({one.workers, v.value, {}, {}, ""});
      // The predicted line begins at the measured point that it continues.
      const bool beside_predicted = (i > 0 && !candidates[i - 1]->measured()) ||
                                    (i + 1 < candidates.size() && !candidates[i + 1]->measured());
      if (!one.measured() || beside_predicted) {
        predicted.points.push_back({one.workers, v.value, v.low, v.high, ""});
      }
    }
    if (!predicted.points.empty()) chart.series.push_back(std::move(predicted));
    chart.series.push_back(std::move(measured));
  }
}

/// Perfect division of the work from the smallest count of the advised series on: the time falls
/// with 1/N, the cost stays.
void add_ideal(LineChart& chart, const JobAdvice& job, bool cost) {
  const auto candidates = of_series(job, job.chosen().series);
  const Candidate& first = *candidates.front();
  Series ideal{"ideal", Role::kIdeal, true, {}};
  for (const Candidate* one : candidates) {
    const double y = cost ? first.cost.value : first.time_s.value * first.workers / one->workers;
    ideal.points.push_back({one->workers, y, {}, {}, ""});
  }
  chart.series.push_back(std::move(ideal));
}

/// One row per candidate, as `lockstep advise` lists them.
Table candidates_table(const JobAdvice& job) {
  const bool priced = job.cost_means == "cost";
  Table table;
  table.title = fmt::format("Choices for {}, fastest first", job.job);
  table.columns = {
      {"series", "", "series", Align::kLeft, ""},
      {"N", "", "workers", Align::kRight, "workers, one device each"},
      {"time", "s", "time_s", Align::kRight, "of " + job.time_means},
      {"low", "s", "time_low_s", Align::kRight, "90 % interval"},
      {"high", "s", "time_high_s", Align::kRight, "90 % interval"},
      {job.cost_means, "", priced ? "cost" : "device_hours", Align::kRight,
       priced ? "N x time x price" : "N x time"},
      {"origin", "", "origin", Align::kLeft, ""},
      {"choice", "", "choice", Align::kLeft, "pareto: none is both faster and cheaper"}};
  const bool rated = !job.quality.metric.empty();
  if (rated) {
    table.columns.push_back({analyze::quality_name(job.quality.metric), "", job.quality.metric,
                             Align::kRight, "of the last epoch, where it was run"});
  }
  for (std::size_t i = 0; i < job.candidates.size(); ++i) {
    const Candidate& one = job.candidates[i];
    const std::string mark = i == job.choice.at ? "use" : one.pareto ? "pareto" : "";
    const bool known = one.measured();
    table.rows.push_back(
        {job.labels[one.series], decimal(one.workers, 0), significant(one.time_s.value),
         known ? Cell() : significant(one.time_s.low),
         known ? Cell() : significant(one.time_s.high), significant(one.cost.value),
         std::string(advise::origin_name(one.origin)), mark.empty() ? Cell() : Cell(mark)});
    if (rated) {
      table.rows.back().push_back(four_digits(job.quality.of(i)));
    }
  }
  table.label_columns = 2;
  return table;
}

Chart decision_chart(const JobAdvice& job, std::size_t at, bool cost) {
  LineChart lines;
  lines.x = {"workers", "", Scale::kLog, false};
  // Both logarithmic: a perfect division is straight then, and fast series stay apart from slow
  // ones.
  lines.y = cost ? Axis{job.cost_means, "", Scale::kLog, false}
                 : Axis{"time of " + job.time_means, "s", Scale::kLog, false};
  add_lines(lines, job, cost);
  add_ideal(lines, job, cost);
  const Candidate& chosen = job.chosen();
  const double value = cost ? chosen.cost.value : chosen.time_s.value;
  // Under the name of its series, which then hides and shows the ring too.
  lines.series.push_back({job.labels[chosen.series],
                          Role::kLimit,
                          false,
                          {{chosen.workers, value, {}, {}, "advised"}}});
  lines.marks.push_back({'x', chosen.workers, fmt::format("advised: {:g}", chosen.workers)});
  const bool beyond =
      std::any_of(job.candidates.begin(), job.candidates.end(),
                  [&](const Candidate& one) { return job.room && one.workers > *job.room; });
  if (beyond) {
    lines.marks.push_back({'x', *job.room, fmt::format("host has room for {:g}", *job.room)});
  }
  const std::string what = cost ? job.cost_means : "time of " + job.time_means;
  return {fmt::format("decision-{}-{}", at + 1, cost ? "cost" : "time"),
          fmt::format("{}: {} against workers", job.job, what),
          "Solid lines with symbols are measured; dashed lines are predicted, with their 90 % "
          "interval as "
          "a band. "
          "The dotted line is ideal scaling of the advised series; its advised count is circled. "
          "Both axes are logarithmic.",
          "decision",
          job.job + (cost ? ", " + job.cost_means : ", time"),
          std::move(lines),
          {candidates_table(job)}};
}

/// Each caveat once, with the job that it is about where that is one of several.
void add_caveats(const PageContext& context, View& view) {
  std::map<std::string, std::vector<std::string>> jobs;
  for (const JobAdvice& job : context.advice) {
    for (const std::string& caveat : job.caveats) jobs[caveat].push_back(job.job);
  }
  for (const auto& [caveat, about] : jobs) {
    const bool one_of_several = about.size() == 1 && context.advice.size() > 1;
    std::string text = (one_of_several ? about.front() + ": " : "") + caveat + ".";
    if (!one_of_several)
      text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    view.notes.push_back(std::move(text));
  }
}

}  // namespace

View decision_view(const PageContext& context) {
  View view{"decision", "How many workers",
            "A decision needs times for at least one worker count, and the examples or epochs of "
            "the run. lockstep study measures them."};
  for (std::size_t i = 0; i < context.advice.size(); ++i) {
    view.add(decision_chart(context.advice[i], i, false));
    view.add(decision_chart(context.advice[i], i, true));
    const JobAdvice& job = context.advice[i];
    const auto note = [&](const std::string& text) {
      view.notes.push_back(context.advice.size() > 1 ? job.job + ": " + text : text);
    };
    for (const std::string& reason : job.why) note("Because: " + reason + ".");
    for (const std::string& alternative : job.alternatives) note(alternative);
    if (job.next) note("The run to make next: " + next_run_text(job) + ".");
  }
  add_caveats(context, view);
  return view;
}

}  // namespace lockstep::report
