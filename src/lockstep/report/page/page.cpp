#include "lockstep/report/page/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "lockstep/base/units.h"
#include "lockstep/report/page/views.h"

namespace lockstep::report {
namespace {

std::string headline_of(const Page& page) {
  if (!page.advice.empty()) return decision_text(page.advice);
  const auto compared = std::count_if(
      page.findings.begin(), page.findings.end(),
      [](const analyze::Finding& one) { return one.topic == analyze::Topic::kWorkers; });
  // One of many would be read as the answer to all.
  if (compared > 3) return fmt::format("{} series were compared, each on its own.", compared);
  return page.findings.empty() ? "" : page.findings.front().sentence;
}

/// What the page is based on: how many runs, of what, where.
std::vector<std::pair<std::string, std::string>> facts_of(const PageSource& source,
                                                          std::size_t configurations) {
  std::vector<std::pair<std::string, std::string>> facts;
  if (!source.listed.empty()) {
    std::size_t done = 0;
    for (const store::RunSummary& run : source.listed) done += run.state == store::RunState::kDone;
    facts.emplace_back("runs", fmt::format("{} ({} done)", source.listed.size(), done));
  }
  facts.emplace_back("configurations", std::to_string(configurations));
  facts.emplace_back("measurements", format_count(static_cast<std::int64_t>(source.rows.size())));
  std::set<std::string> machines;
  std::set<std::string> builds;
  bool synthetic = false;
  for (const RunDigest& digest : source.runs) {
    const record::Machine& m = digest.run.started.machine;
    if (!m.cpu.empty()) machines.insert(fmt::format("{}: {}, {} cores", m.host, m.cpu, m.cores));
    const record::Build& b = digest.run.started.build;
    if (!b.version.empty()) {
      builds.insert(
          fmt::format("lockstep {}{}{}", b.version, b.torch.empty() ? "" : ", torch ", b.torch));
    }
    synthetic |= digest.run.started.spec.data.synthetic;
  }
  if (!machines.empty())
    facts.emplace_back("machine", fmt::format("{}", fmt::join(machines, "; ")));
  if (!builds.empty()) facts.emplace_back("made by", fmt::format("{}", fmt::join(builds, "; ")));
  if (synthetic) facts.emplace_back("data", "partly or fully synthetic");
  return facts;
}

}  // namespace

Page build_page(const PageSource& source) {
  PageContext context{source, analyze::configurations(source.rows), {}};
  context.groups = analyze::speedups(context.configurations, source.options.speedup);
  context.series = predict::job_series_if_any(source.rows, source.options.rows_from);
  context.advice =
      study_advice(context.configurations, context.groups, context.series, source.options);
  Page page;
  page.title = source.title;
  page.made_wall_ns = source.made_wall_ns;
  page.notices = source.notices;
  for (const store::RunSummary& run : source.listed) {
    page.runs.push_back({run.id, run.state, run.epochs_done});
  }
  page.findings = analyze::verdict(context.configurations, context.groups);
  page.rule = paying_rule();
  page.facts = facts_of(source, context.configurations.size());
  for (const auto view : kViews) page.views.push_back(view(context));
  page.advice = std::move(context.advice);
  page.headline = headline_of(page);
  if (source.rows.empty() && !source.listed.empty()) {
    page.headline = "No verdict yet: no run has finished.";
    page.findings.clear();
  }
  return page;
}

}  // namespace lockstep::report
