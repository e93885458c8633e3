#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lockstep/record/choices.h"

namespace lockstep::train {

/// The learning rate over a run, as a factor of its base value: a linear warm-up over the first
/// steps, then the shape.
struct Schedule {
  record::ScheduleShape shape = record::ScheduleShape::kConstant;  ///< kPlateau: see Plateau
  double warmup_steps = 0;
  std::vector<std::int64_t> drops{};  ///< of kStep: steps, rising
  double gamma = 0.1;

  /// `step` from 0 of `total`; between 0 and 1.
  double factor(std::int64_t step, std::int64_t total) const;
};

/// Lowers the rate when the validation loss has stopped to fall: after more than `patience` epochs
/// without one that is lower than the best by a part in ten thousand, the factor is multiplied by
/// `gamma`. Every rank sees the same losses and so decides the same.
class Plateau {
 public:
  Plateau(double gamma, int patience) : gamma_(gamma), patience_(patience) {}

  /// After each epoch. A loss that is not finite does not count as progress.
  void observe(double validation_loss);
  double factor() const { return factor_; }

  /// What a checkpoint must keep, by name.
  std::map<std::string, double> figures() const;
  void restore(const std::map<std::string, double>& figures);

 private:
  double gamma_;
  int patience_;
  double factor_ = 1;
  bool seen_ = false;
  double best_ = 0;
  int waited_ = 0;
};

/// The factor that --lr-scale puts on a rate meant for `base_batch`: B / base, its root, or 1.
double batch_scale(record::RateScaling scaling, std::int64_t global_batch, std::int64_t base_batch);

}  // namespace lockstep::train
