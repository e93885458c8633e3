#pragma once

#include <cstdint>

#include "lockstep/record/run_sink.h"

namespace lockstep::study {

/// Measures the rate of a run from the events of its rank 0, as they come: the start of the run is
/// left out, and a few seconds of the rest are enough.
class RateProbe final : public record::RunSink {
 public:
  /// What write() throws once the rate is known: the run may end.
  struct Measured {};

  void write(const record::Event& event) override;

  /// Examples per second of all workers. Of a run that ended early it is that of all its steps; 0
  /// if there were none.
  double examples_per_s() const;

 private:
  struct Part {
    double steps = 0;
    double seconds = 0;
    void add(const Part& more) { steps += more.steps, seconds += more.seconds; }
  };

  void on(const record::Progress& event);
  void on(const record::EpochResult& event);
  void add(const Part& part);

  std::int64_t global_batch_ = 0;
  double examples_per_step_ = 0;  ///< less than the global batch where the last step is smaller
  int epoch_ = 0;                 ///< of the last progress
  std::int64_t step_ = 0;         ///< within it
  Part warm_up_;
  Part steady_;
  int parts_ = 0;  ///< of steady_
};

}  // namespace lockstep::study
