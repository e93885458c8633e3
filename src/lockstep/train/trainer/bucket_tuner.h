#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::train {

/// Finds the bucket size with the least exposed communication (--bucket auto), in the first steps
/// of a run: sizes take turns, so that a slow moment of the machine meets all of them, and the
/// worse half drops out after each stage. All ranks compare the same figures.
///
///   before each step: use size(); step_begins()
///   when its times are known: observe(); all ranks, at the same step: decide()
class BucketTuner {
 public:
  /// For one candidate, the figures of all ranks from that of this one. Collective.
  using Gather = std::function<std::vector<double>(double)>;

  /// `largest`: bytes of all gradients; sizes above it are the same as one bucket for all.
  explicit BucketTuner(std::uint64_t largest);

  bool done() const { return sizes_.size() == 1; }
  /// For the next step; when done, the size that was chosen.
  std::uint64_t size() const { return sizes_[turn_]; }
  void step_begins(std::int64_t step);
  /// The exposed communication of a step, in order of steps. Steps that no turn belongs to are
  /// ignored.
  void observe(std::int64_t step, double exposed_s);
  /// Ends a stage when all its turns were observed. True when the choice was made just now.
  bool decide(const Gather& gather);
  /// "4 MB (3.1 ms exposed; 256 kB 5.2 ms, ...)"
  std::string summary() const;

 private:
  struct Turn {
    std::int64_t step;
    std::size_t candidate;
  };

  std::vector<std::uint64_t> sizes_;
  std::vector<std::vector<double>> exposed_;  ///< by candidate
  std::vector<std::pair<std::uint64_t, double>> results_;
  std::vector<Turn> turns_;  ///< begun and not observed
  std::size_t turn_ = 0;
  int left_;  ///< steps of this stage that have not begun
  int warm_up_;
};

}  // namespace lockstep::train
