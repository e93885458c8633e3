#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lockstep/report/page/views.h"
#include "lockstep/report/study_columns.h"

namespace lockstep::report {
namespace {

using analyze::Configuration;

/// One rung: a batch on a device, what it gave or that it did not fit.
struct Rung {
  Configuration configuration;
  std::optional<double> examples_per_s;
  std::optional<double> peak_memory_bytes;
  bool out_of_memory = false;
};

std::optional<double> peak_memory(const PageContext& context, const Configuration& c) {
  std::optional<double> most;
  for (const RunDigest& digest : context.source.runs) {
    const record::RunSpec& spec = digest.run.started.spec;
    if (!digest.run.ended || digest.run.ended->peak_memory_bytes <= 0) continue;
    if (spec.recipe != c.model || spec.device != c.device || spec.workers != c.workers ||
        static_cast<double>(spec.batch_per_worker) != c.batch_per_worker) {
      continue;
    }
    most = std::max(most.value_or(0), static_cast<double>(digest.run.ended->peak_memory_bytes));
  }
  return most;
}

std::map<std::string, std::vector<Rung>> ladders(const PageContext& context) {
  std::map<std::string, std::vector<Rung>> jobs;
  for (const analyze::SpeedupGroup& group : context.groups) {
    for (const analyze::SpeedupPoint& point : group.points) {
      const Configuration& c = point.configuration;
      if (!c.batch_per_worker || !c.workers || !point.examples_per_s) continue;
      jobs[analyze::job_name(c.model, c.dataset)].push_back(
          {c, point.examples_per_s, peak_memory(context, c), false});
    }
  }
  for (const Configuration& c : context.configurations) {
    if (!c.batch_per_worker || c.value("out_of_memory").value_or(0) <= 0) continue;
    jobs[analyze::job_name(c.model, c.dataset)].push_back({c, {}, {}, true});
  }
  return jobs;
}

std::string line_name(const Configuration& c) {
  std::string name =
      fmt::format("{} x {}", c.workers.value_or(1), c.device.empty() ? "worker" : c.device);
  return c.variant.empty() ? name : name + ", " + c.variant;
}

std::string rate_of(const std::vector<Rung>& rungs) {
  std::vector<const Configuration*> all;
  for (const Rung& rung : rungs) all.push_back(&rung.configuration);
  return analyze::common_rate_unit(all);
}

Table ladder_table(const std::string& job, const std::vector<Rung>& rungs) {
  TableBuilder<Rung> builder;
  add_configuration_columns<Rung>(
      builder, [](const Rung& rung) -> const Configuration& { return rung.configuration; });
  builder
      .column({rate_of(rungs), "", "examples_per_s", Align::kRight, "of all workers"},
              [](const Rung& rung) { return four_digits(rung.examples_per_s); })
      .column({"peak memory", "MB", "peak_memory_mb", Align::kRight, "of one worker; measured"},
              [](const Rung& rung) {
                return rung.peak_memory_bytes ? four_digits(*rung.peak_memory_bytes / 1e6) : Cell{};
              })
      .column({"fits", "", "fits", Align::kLeft, "no: ran out of memory"},
              [](const Rung& rung) { return Cell(rung.out_of_memory ? "no" : "yes"); });
  return builder.build("Batch ladder: " + job, rungs);
}

LineChart ladder_lines(const std::vector<Rung>& rungs, bool memory) {
  LineChart chart;
  chart.x = {"batch per worker", "", Scale::kLog, false};
  chart.y = memory ? Axis{"peak memory per worker", "MB", Scale::kLinear, true}
                   : Axis{"throughput", rate_of(rungs), Scale::kLinear, true};
  std::map<std::string, Series> lines;
  for (const Rung& rung : rungs) {
    const double x = *rung.configuration.batch_per_worker;
    if (rung.out_of_memory) {
      chart.marks.push_back({'x', x, fmt::format("b = {:g}: out of memory", x)});
      continue;
    }
    const auto& value = memory ? rung.peak_memory_bytes : rung.examples_per_s;
    if (!value) continue;
    Series& line = lines[line_name(rung.configuration)];
    line.name = line_name(rung.configuration);
    const std::string note = rung.configuration.global_batch
                                 ? fmt::format("B = {}", *rung.configuration.global_batch)
                                 : "";
    line.points.push_back({x, memory ? *value / 1e6 : *value, {}, {}, note});
  }
  for (auto& [name, line] : lines) {
    std::stable_sort(line.points.begin(), line.points.end(),
                     [](const Point& a, const Point& b) { return a.x < b.x; });
    if (chart.series.size() < kMostLines) chart.series.push_back(std::move(line));
  }
  return chart;
}

/// A single batch makes no curve: the table is enough.
bool several_batches(const LineChart& chart) {
  std::set<double> batches;
  for (const Series& line : chart.series) {
    for (const Point& point : line.points) batches.insert(point.x);
  }
  for (const Mark& mark : chart.marks) batches.insert(mark.at);
  return batches.size() > 1;
}

}  // namespace

View batch_view(const PageContext& context) {
  View view{"batch", "Batch and memory",
            "Throughput against batch needs runs at several batches; the memory limit appears once "
            "a batch has run out of memory."};
  std::size_t at = 0;
  for (const auto& [job, rungs] : ladders(context)) {
    ++at;
    const Table table = ladder_table(job, rungs);
    const LineChart throughput = ladder_lines(rungs, false);
    const LineChart memory = ladder_lines(rungs, true);
    if (!several_batches(throughput) && !several_batches(memory)) {
      view.tables.push_back(table);
      continue;
    }
    view.add({fmt::format("batch-{}", at),
              job + ": throughput against batch",
              "Measured examples per second of all workers. A vertical line marks a batch that did "
              "not fit.",
              "batch",
              job + ", throughput",
              throughput,
              {table}});
    view.add({fmt::format("memory-{}", at),
              job + ": memory against batch",
              "Largest resident memory of any worker of a run. A vertical line marks a batch that "
              "did not fit.",
              "batch",
              job + ", memory",
              memory,
              {table}});
  }
  return view;
}

}  // namespace lockstep::report
