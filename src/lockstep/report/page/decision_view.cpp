#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/report/page/series_labels.h"
#include "lockstep/report/page/views.h"

namespace lockstep::report {
namespace {

using predict::Candidate;
using predict::Estimate;

/// The candidates of one series by worker count.
std::vector<const Candidate*> of_series(const predict::Advice& advice, std::size_t series) {
  std::vector<const Candidate*> found;
  for (const Candidate& one : advice.candidates) {
    if (one.series == series) found.push_back(&one);
  }
  std::sort(found.begin(), found.end(),
            [](const Candidate* a, const Candidate* b) { return a->workers < b->workers; });
  return found;
}

void add_lines(LineChart& chart, const JobAdvice& job, bool cost) {
  const auto value = [cost](const Candidate& one) -> const Estimate& {
    return cost ? one.cost : one.time_s;
  };
  for (std::size_t s = 0; s < job.series.size(); ++s) {
    Series measured{job.labels[s], Role::kMeasured, false, {}};
    Series predicted{job.labels[s], Role::kPredicted, true, {}};
    for (const Candidate* one : of_series(job.advice, s)) {
      const Estimate& v = value(*one);
      const bool known = one->job.scaling.measured;
      predicted.points.push_back({one->workers, v.value, v.low, v.high, ""});
      if (known) measured.points.push_back({one->workers, v.value, {}, {}, ""});
    }
    if (predicted.points.size() > measured.points.size() || measured.points.size() > 1) {
      chart.series.push_back(std::move(predicted));
    }
    chart.series.push_back(std::move(measured));
  }
}

/// Perfect division of the work from the smallest count of the advised series on: the time falls
/// with 1/N, the cost stays.
void add_ideal(LineChart& chart, const JobAdvice& job, bool cost) {
  const auto candidates = of_series(job.advice, job.chosen().series);
  const Candidate& first = *candidates.front();
  Series ideal{"ideal", Role::kIdeal, true, {}};
  for (const Candidate* one : candidates) {
    const double y = cost ? first.cost.value : first.time_s.value * first.workers / one->workers;
    ideal.points.push_back({one->workers, y, {}, {}, ""});
  }
  chart.series.push_back(std::move(ideal));
}

/// One row a candidate, as `lockstep advise` lists them.
Table candidates_table(const JobAdvice& job) {
  const predict::Advice& advice = job.advice;
  const bool priced = advice.cost_means == "cost";
  Table table;
  table.title = fmt::format("Choices for {}, fastest first", job.job);
  table.columns = {
      {"series", "", "series", Align::kLeft, ""},
      {"N", "", "workers", Align::kRight, "workers, one device each"},
      {"time", "s", "time_s", Align::kRight, "of " + advice.time_means},
      {"low", "s", "time_low_s", Align::kRight, "9 of 10 such intervals hold"},
      {"high", "s", "time_high_s", Align::kRight, "9 of 10 such intervals hold"},
      {advice.cost_means, "", priced ? "cost" : "device_hours", Align::kRight,
       priced ? "N x time x price" : "N x time"},
      {"origin", "", "origin", Align::kLeft, ""},
      {"choice", "", "choice", Align::kLeft, "pareto: none is both faster and cheaper"}};
  for (std::size_t i = 0; i < advice.candidates.size(); ++i) {
    const Candidate& one = advice.candidates[i];
    const std::string mark = i == advice.chosen      ? "use"
                             : advice.next_best == i ? "next best"
                             : one.pareto            ? "pareto"
                                                     : "";
    const bool known = one.job.scaling.measured;
    table.rows.push_back(
        {job.labels[one.series], decimal(one.workers, 0), significant(one.time_s.value),
         known ? Cell() : significant(one.time_s.low),
         known ? Cell() : significant(one.time_s.high), significant(one.cost.value),
         known ? "measured" : "predicted", mark.empty() ? Cell() : Cell(mark)});
  }
  table.label_columns = 2;
  return table;
}

Chart decision_chart(const JobAdvice& job, std::size_t at, bool cost) {
  LineChart lines;
  lines.x = {"workers", "", Scale::kLog, false};
  lines.y = cost ? Axis{job.advice.cost_means, "", Scale::kLinear, true}
                 : Axis{"time of " + job.advice.time_means, "s", Scale::kLinear, true};
  add_lines(lines, job, cost);
  add_ideal(lines, job, cost);
  const Candidate& chosen = job.chosen();
  const double value = cost ? chosen.cost.value : chosen.time_s.value;
  lines.series.push_back({"advised", Role::kLimit, false, {{chosen.workers, value, {}, {}, ""}}});
  lines.marks.push_back({'x', chosen.workers, fmt::format("advised: {:g}", chosen.workers)});
  const std::string what = cost ? job.advice.cost_means : "time of " + job.advice.time_means;
  return {fmt::format("decision-{}-{}", at + 1, cost ? "cost" : "time"),
          fmt::format("{}: {} against workers", job.job, what),
          "Dots are measured; lines with a band are predicted, and 9 of 10 such bands hold. The "
          "dotted line is perfect division of the work of the advised series.",
          "decision",
          job.job + (cost ? ", " + job.advice.cost_means : ", time"),
          std::move(lines),
          {candidates_table(job)}};
}

void add_reasons(View& view, const JobAdvice& job) {
  for (const std::string& reason : job.advice.why) view.notes.push_back(reason);
  if (job.advice.more_is_slower) {
    view.notes.push_back(
        fmt::format("{}: the next larger count is slower with probability {:.0f} %", job.job,
                    100 * *job.advice.more_is_slower));
  }
  for (const std::string& text : job.advice.would_change) {
    view.notes.push_back("would change the advice: " + text);
  }
  if (job.advice.next) {
    view.notes.push_back(fmt::format(
        "next run that tells most: {:g} workers of {}; {:.0f} % that it changes the advice",
        job.advice.next->workers, job.advice.next->series,
        100 * job.advice.next->changes_decision));
  }
}

/// What the times are of, where nobody asked for epochs: the run as long as it was measured, where
/// that is known, else an epoch.
std::string time_meant(const JobAdvice& job) {
  const bool whole = std::all_of(job.advice.candidates.begin(), job.advice.candidates.end(),
                                 [](const Candidate& one) { return one.job.total_s.has_value(); });
  if (!whole) return "one epoch";
  const auto epochs = job.series.front().epochs;
  const bool same = std::all_of(job.series.begin(), job.series.end(),
                                [&](const auto& one) { return one.epochs == epochs; });
  if (!same || !epochs) return "the whole run";
  return *epochs == 1 ? "one epoch" : fmt::format("{} epochs", *epochs);
}

}  // namespace

std::string JobAdvice::sentence() const {
  const Candidate& one = chosen();
  return fmt::format(
      "use {:g} worker{}{}: {} for {} ({}), {:.3g} {}", one.workers, one.workers == 1 ? "" : "s",
      labels.size() > 1 ? ", " + labels[one.series] : "", format_seconds(Seconds(one.time_s.value)),
      advice.time_means, one.job.scaling.measured ? "measured" : "predicted", one.cost.value,
      advice.cost_means);
}

std::vector<JobAdvice> job_advice(const PageSource& source) {
  // Jobs by model: a time of one says nothing about which to use for another.
  std::vector<std::string> order;
  std::map<std::string, std::vector<predict::TableSeries>> jobs;
  for (const predict::TableSeries& one : source.series) {
    if (one.series.points.empty()) continue;
    auto& members = jobs[one.model];
    if (members.empty()) order.push_back(one.model);
    if (members.size() < kMostLines) members.push_back(one);
  }
  std::vector<JobAdvice> all;
  for (const std::string& model : order) {
    JobAdvice job{model.empty() ? "unnamed model" : model, {}, std::move(jobs[model]), {}};
    predict::AdviceQuestion question;
    question.measured = job.series;
    double most = 1;
    std::vector<LabelParts> parts;
    for (const predict::TableSeries& one : job.series) {
      most = std::max(most, one.series.points.back().workers);
      parts.push_back(label_parts(one));
    }
    question.max_workers = std::max(4.0, 2 * most);
    question.price_per_hour = source.price_per_hour;
    try {
      job.advice = predict::advise(question);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kData) throw;
      continue;  // nothing known of the job's length: the scaling view shows what there is
    }
    job.advice.time_means = time_meant(job);
    job.labels = short_labels(parts);
    all.push_back(std::move(job));
  }
  return all;
}

View decision_view(const PageContext& context) {
  View view{"decision", "How many workers",
            "A decision needs times at one worker count at least, and the examples or epochs of "
            "the run. lockstep study measures them."};
  for (std::size_t i = 0; i < context.advice.size(); ++i) {
    view.add(decision_chart(context.advice[i], i, false));
    view.add(decision_chart(context.advice[i], i, true));
    add_reasons(view, context.advice[i]);
  }
  return view;
}

}  // namespace lockstep::report
