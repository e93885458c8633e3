#include "study_launcher.h"

#include <fmt/format.h>

#include <utility>

#include "lockstep/base/error.h"

namespace lockstep::cli {

TrainingLauncher make_training_launcher(const std::string& name, Console& console,
                                        launch::SignalInbox& signals, const Clock& clock) {
  if (name != "local") {
    throw Error(ErrorKind::kUsage, fmt::format("--launcher '{}' is unknown", name),
                "give local: processes of this machine");
  }
  return [&console, &signals, &clock](record::TrainRequest& request, const record::Machine& machine,
                                      std::vector<RunSink*> sinks) {
    plan_workers(request.spec);
    return run_training(request, {}, machine, std::move(sinks), console, signals, clock);
  };
}

}  // namespace lockstep::cli
