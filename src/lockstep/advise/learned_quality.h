#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/advise/candidates.h"
#include "lockstep/analyze/quality.h"

namespace lockstep::advise {

/// How well the candidates learned where they were run. Equal work may have been learned unequally
/// well.
struct LearnedQuality {
  std::string metric{};                          ///< "val_accuracy", "val_loss"; "" = none is known
  std::vector<std::optional<double>> learned{};  ///< by candidate

  std::optional<double> of(std::size_t candidate) const;
  /// The best of some candidates; nothing if none is known.
  std::optional<std::size_t> best(const std::vector<std::size_t>& candidates) const;
  std::optional<std::size_t> best() const;
  /// Whether a candidate is known to have learned less than another.
  bool less(std::size_t candidate, std::size_t than) const;
  /// "validation accuracy 0.9008"; "" where it is not known.
  std::string text(std::size_t candidate) const;
};

/// The candidate from which it is known that `at` learns less than another: itself, or a smaller
/// count of its series and so perhaps a smaller global batch. Nothing if none did.
std::optional<std::size_t> sign_of_less(const LearnedQuality& quality,
                                        const std::vector<Candidate>& candidates, std::size_t at,
                                        std::size_t than);

/// By the first of validation accuracy and validation loss that any candidate has. Nothing if
/// the series' runs had different lengths.
LearnedQuality learned_quality(const std::vector<predict::TableSeries>& series,
                               const std::vector<Candidate>& candidates,
                               std::span<const analyze::QualityPoint> points);

}  // namespace lockstep::advise
