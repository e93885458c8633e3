#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lockstep/import/model/imported_run.h"
#include "lockstep/import/model/reader.h"

namespace lockstep::import {

/// A figure of a run that is kept: what it is, and how it follows from the file.
struct ReportedFigure {
  std::string words;  ///< "epoch 3: train loss"
  double value = 0;
  std::string derivation;  ///< "" = the file has it as it is, in this unit or another
};

/// All figures of a run. Of series the values that are kept, without those that others follow from.
std::vector<ReportedFigure> reported_figures(const ImportedRun& run);

/// The numbers of a text, for asking whether a figure stands in it: as it is, in percent, in
/// milliseconds, minutes or hours, or as a duration ("1:02:03", "2m 3s").
class PrintedNumbers {
 public:
  explicit PrintedNumbers(std::string_view text);
  bool has(double figure) const;

 private:
  std::vector<double> sorted_;
};

/// Explains a file by its figures, for readers that do not explain their lines themselves: which
/// figures of which run stand on each line.
std::vector<ExplainedLine> explain_by_value(std::string_view text,
                                            const std::vector<ImportedRun>& runs);

}  // namespace lockstep::import
