#include "lockstep/analyze/steps/remedy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/base/units.h"

namespace lockstep::analyze {

std::string input_remedy(Seconds step, Seconds input, const RunFacts& facts) {
  const Seconds rest = step - input;
  if (!facts.loader_workers || rest.count() <= 0 || input.count() <= 0) return "";
  const std::int64_t now = *facts.loader_workers;
  // Where loading takes turns with training, its time is the wait; where N processes load ahead and
  // training still waits, each of them takes N steps for a batch.
  const Seconds load = now == 0 ? input : static_cast<double>(now) * step;
  // A little more than just enough: a loader that only just keeps up still stalls now and then.
  const auto enough = std::max<std::int64_t>(now + 1, std::llround(std::ceil(load / rest)));
  std::string text =
      now == 0 ? fmt::format(
                     "loading does not overlap with training (num_workers is 0) and takes {} per "
                     "batch",
                     format_seconds(load))
               : fmt::format("a loader process takes about {} per batch (num_workers is {})",
                             format_seconds(load), now);
  if (facts.cores && enough >= *facts.cores) {
    return text + fmt::format(
                      "; {} could hide that, but a worker has only {}: make "
                      "loading cheaper (data decoded beforehand, fewer transforms per example)",
                      counted(enough, "process", "processes"), counted(*facts.cores, "core"));
  }
  return text + fmt::format(
                    "; num_workers={} would hide it where as many cores are free: {} per step at "
                    "best, {:.2f}x as fast",
                    enough, format_seconds(rest), step / rest);
}

std::string transfer_remedy(Seconds step, Seconds transfer, Seconds compute) {
  if (compute.count() <= 0 || transfer.count() <= 0) return "";
  return fmt::format(
      "with twice the batch per worker it would be about {:.0f} %, as gradients have the same size",
      100 * (transfer / (step + compute)));
}

}  // namespace lockstep::analyze
