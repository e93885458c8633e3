#include "lockstep/report/phases_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lockstep/base/units.h"
#include "lockstep/report/render/estimate_text.h"

namespace lockstep::report {
namespace {

using collect::PhasesPrediction;

std::string contention_text(const PhasesPrediction& answer) {
  const predict::SharedHost& host = answer.predicted.host;
  const bool stated = answer.question.workers.contention > 0;
  const bool fewer = host.threads_each < host.threads_alone;
  const bool calibrated = host.alone.flops > 0 && host.together.flops > 0;
  const std::string as =
      answer.measured.workers > 1 ? fmt::format(" as in run {}", answer.question.run) : "";
  std::string text = fmt::format(
      "note: compute is assumed to take {} times as long{} with all workers computing ({})\n",
      with_interval(answer.predicted.asked.contention, 2), as,
      stated       ? "as stated"
      : fewer      ? "each has fewer threads than the one measured"
      : calibrated ? "calibrated: arithmetic and memory of all threads at once"
                   : "estimated from the number of cores; lockstep bench device would measure it");
  if (!fewer || stated) return text;
  return text +
         fmt::format(
             "note: cannot be determined: what {} instead of {} threads per worker cost; to settle "
             "it, run lockstep train {} -n 1 --threads {} and predict from that run\n",
             host.threads_each, host.threads_alone, answer.measured.recipe, host.threads_each);
}

std::string time_line(const char* name, double seconds) {
  return fmt::format("  {:<26} {}\n", name, format_seconds(Seconds(seconds)));
}

}  // namespace

std::string phases_text(const PhasesPrediction& answer) {
  const predict::PhasePrediction& step = answer.predicted.step;
  const predict::Link& link = answer.predicted.link;
  const bool measured = link.bytes_per_s != answer.link.link.bytes_per_s;
  std::string text =
      fmt::format("{}, predicted from the measured phases of run {} ({} of {}) and the link\n",
                  counted(answer.question.workers.workers, "worker"), answer.question.run,
                  counted(static_cast<std::int64_t>(answer.predicted.steps), "step"),
                  counted(std::max(answer.measured.workers, 1), "worker"));
  text += time_line("compute", step.compute_s);
  text += time_line("communication", step.communication_s);
  text += time_line("of it exposed", step.exposed_s);
  text += time_line("waiting for the slowest", step.straggler_s);
  text += fmt::format("  {:<26} {}\n", "step", time_with_interval(step.step_s));
  if (answer.predicted.epoch_s) {
    text += fmt::format("  {:<26} {}\n", "epoch", time_with_interval(*answer.predicted.epoch_s));
  }
  if (step.input_bound) text += "note: the loader, not the device, is the bottleneck\n";
  text += fmt::format(
      "note: in brackets: 90 % intervals; they cover the spread between runs ({:.0f} %{}), "
      "contention between workers ({:.0f} %), link and stragglers ({:.0f} %), and what the phases "
      "do not cover (8 %)\n",
      100 * step.run_part, answer.predicted.asked.run_spread > 0 ? "" : ", assumed",
      100 * step.contention_part, 100 * step.link_part);
  if (answer.question.workers.workers > 1) text += contention_text(answer);
  return text + fmt::format("note: link ({}): latency {}, bandwidth {}/s\n",
                            measured ? fmt::format("transfers of run {}; latency {}",
                                                   answer.question.run, answer.link.origin)
                                     : answer.link.origin,
                            format_seconds(Seconds(link.alpha_s)),
                            format_bytes(Bytes{static_cast<std::uint64_t>(link.bytes_per_s)}));
}

nlohmann::json phases_json(const PhasesPrediction& answer) {
  const predict::PhasePrediction& step = answer.predicted.step;
  nlohmann::json json{{"run", answer.question.run},
                      {"measured_workers", answer.measured.workers},
                      {"workers", answer.question.workers.workers},
                      {"nodes", answer.question.workers.nodes},
                      {"kind", "predicted"},
                      {"step_time_s", estimate_json(step.step_s)},
                      {"compute_s", step.compute_s},
                      {"communication_s", step.communication_s},
                      {"exposed_s", step.exposed_s},
                      {"straggler_s", step.straggler_s},
                      {"input_bound", step.input_bound},
                      {"contention", estimate_json(answer.predicted.asked.contention)},
                      {"run_spread", answer.predicted.asked.run_spread},
                      {"threads_measured", answer.predicted.host.threads_alone},
                      {"threads_predicted", answer.predicted.host.threads_each},
                      {"link", answer.link.origin},
                      {"link_alpha_s", answer.predicted.link.alpha_s},
                      {"link_bytes_per_s", answer.predicted.link.bytes_per_s}};
  if (answer.predicted.epoch_s) json["epoch_time_s"] = estimate_json(*answer.predicted.epoch_s);
  return json;
}

}  // namespace lockstep::report
