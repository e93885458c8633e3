#include <fmt/format.h>

#include "lockstep/report/study_columns.h"
#include "lockstep/report/study_tables.h"

namespace lockstep::report {
namespace {

using analyze::AuditFinding;
using analyze::AuditOutcome;

/// "follows", "4.00x too low", "not checked".
std::string outcome_text(const AuditFinding& finding) {
  if (finding.outcome == AuditOutcome::kFollows) return "follows";
  if (finding.outcome == AuditOutcome::kUnchecked) return "not checked";
  const auto factor = finding.factor();
  if (!factor) return "does not follow";
  if (*factor <= 0) return "wrong sign";
  return *factor < 1 ? fmt::format("{:.2f}x too low", 1 / *factor)
                     : fmt::format("{:.2f}x too high", *factor);
}

std::string words_of(std::string metric) {
  for (char& c : metric) c = c == '_' ? ' ' : c;
  return metric;
}

}  // namespace

Table audit_table(const analyze::Audit& audit, bool slips) {
  TableBuilder<AuditFinding> builder;
  builder
      .column({"line", "", "line", Align::kRight, "of the table"},
              [](const AuditFinding& f) {
                // Rows of a store have none.
                return count(f.line > 0 ? std::optional(static_cast<std::int64_t>(f.line))
                                        : std::nullopt);
              })
      .column({"configuration", "", "configuration", Align::kLeft, ""},
              [](const AuditFinding& f) { return Cell(f.configuration); })
      .column({"figure", "", "metric", Align::kLeft, ""},
              [](const AuditFinding& f) { return Cell(words_of(f.metric)); })
      .column({"reported", "", "reported", Align::kRight, "as derived by the source"},
              [](const AuditFinding& f) { return plain_digits(f.reported); })
      .column({"recomputed", "", "recomputed", Align::kRight, "as derived from the measurements"},
              [](const AuditFinding& f) { return plain_digits(f.expected); })
      .column({"unit", "", "unit", Align::kLeft, ""},
              [](const AuditFinding& f) { return Cell(f.unit); })
      .column({"outcome", "", "outcome", Align::kLeft,
               "follows: within rounding and 0.5 %; else reported / recomputed"},
              [](const AuditFinding& f) { return Cell(outcome_text(f)); })
      .column({"formula", "", "formula", Align::kLeft, "of the recomputed figure, in numbers"},
              [](const AuditFinding& f) { return Cell(f.formula); });
  if (slips) {
    builder.column(
        {"likely slip", "", "slip", Align::kLeft, "a known mistake that explains the figure"},
        [](const AuditFinding& f) { return Cell(f.slip); });
  }
  Table table = builder.build("Audit of reported figures", audit.findings);
  table.notes = audit.summary;
  table.label_columns = std::min<std::size_t>(3, table.columns.size());
  return table;
}

}  // namespace lockstep::report
