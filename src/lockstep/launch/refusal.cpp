#include "lockstep/launch/refusal.h"

#include <fmt/format.h>

#include <utility>

namespace lockstep::launch {
namespace {

/// Most lines that are held back; a launcher that prints more reports something else.
constexpr std::size_t kMostHeld = 200;

struct Sign {
  std::string_view text;  ///< anywhere in the line
  ErrorKind kind;
  std::string_view words;  ///< in place of the launcher's own, where these are too long
  std::string_view hint;
};

constexpr std::string_view kSlurmAway = "check that sinfo works on this host";
constexpr std::string_view kTooMuch =
    "ask for less --time, fewer --nodes or workers, or another --partition; sinfo -l prints the "
    "limits";
constexpr std::string_view kNoShell =
    "check that 'ssh HOST true' works from here without a password";

/// The first that fits counts: general ones are last.
constexpr Sign kSigns[] = {
    {"invalid partition specified", ErrorKind::kUsage, "", "sinfo lists the partitions"},
    {"Invalid partition name", ErrorKind::kUsage, "", "sinfo lists the partitions"},
    {"Invalid account", ErrorKind::kUsage, "",
     "check --account; sacctmgr show associations lists yours"},
    {"Invalid qos", ErrorKind::kUsage, "", "the partition or the account requires another QOS"},
    {"Invalid --time", ErrorKind::kUsage, "",
     "give --time in minutes, or as hours:minutes:seconds"},
    {"time limit", ErrorKind::kUsage, "", kTooMuch},
    {"Invalid generic resource", ErrorKind::kUsage, "",
     "check --gres; scontrol show nodes lists what nodes have"},
    {"Requested partition configuration not available now", ErrorKind::kUsage,
     "the job would wait in the queue forever: it exceeds the limits of the partition", kTooMuch},
    {"Requested node configuration is not available", ErrorKind::kUsage, "", kTooMuch},
    {"Node count specification invalid", ErrorKind::kUsage, "", kTooMuch},
    {"More processors requested than permitted", ErrorKind::kUsage, "", kTooMuch},
    {"Could not establish a configuration source", ErrorKind::kEnvironment,
     "this host is not part of a Slurm cluster", kSlurmAway},
    {"Unable to contact slurm controller", ErrorKind::kEnvironment, "", kSlurmAway},
    {"cannot stat file", ErrorKind::kEnvironment, "", "check SLURM_CONF"},
    {"Invalid MPI type", ErrorKind::kEnvironment, "", "use --backend gloo"},
    {"Unable to allocate resources", ErrorKind::kUsage, "",
     "check --partition, --account, --time, --nodes and --gres"},
    {"Batch job submission failed", ErrorKind::kUsage, "",
     "check --partition, --account, --time, --nodes and --gres"},
    {"not enough slots available", ErrorKind::kUsage, "fewer slots than workers",
     "add --oversubscribe, or hosts and slots in the file of --hostfile"},
    {"attempt to run as root", ErrorKind::kEnvironment, "it does not run as root",
     "use another user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
    {"could not access", ErrorKind::kEnvironment, "a host does not have lockstep-worker",
     "install lockstep under the same path on all hosts"},
    {"lockstep-worker: No such file", ErrorKind::kEnvironment,
     "a host does not have lockstep-worker", "install lockstep under the same path on all hosts"},
    {"unable to reliably start one or more daemons", ErrorKind::kEnvironment,
     "a host could not be reached or has no Open MPI", kNoShell},
    {"ssh: ", ErrorKind::kEnvironment, "", kNoShell},
    {"Host key verification failed", ErrorKind::kEnvironment, "",
     "log in to that host by hand once, so that ssh stores its key"},
    {"Permission denied (", ErrorKind::kEnvironment, "", kNoShell},
};

/// "srun: error: Unable to allocate resources: X" is about X.
std::string_view essence(std::string_view line) {
  for (const std::string_view prefix :
       {"srun: ", "sbatch: ", "ssh: ", "error: ", "fatal: ", "Unable to allocate resources: ",
        "Batch job submission failed: ", "allocation failure: "}) {
    if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
  }
  return line;
}

/// Lines that only a launcher prints, and only when something is wrong.
bool sounds_like_trouble(std::string_view line) {
  return line.starts_with("srun: error: ") || line.starts_with("srun: fatal: ") ||
         line.starts_with("ssh: ");
}

bool is_frame(std::string_view line) {
  return line.size() > 40 && line.find_first_not_of('-') == std::string_view::npos;
}

}  // namespace

std::optional<Error> refusal_in(std::string_view line, const std::string& what) {
  for (const Sign& sign : kSigns) {
    if (line.find(sign.text) == std::string_view::npos) continue;
    const std::string_view words = sign.words.empty() ? essence(line) : sign.words;
    return Error(sign.kind, fmt::format("{}: {}", what, words), std::string(sign.hint));
  }
  return std::nullopt;
}

bool RefusalListener::hold(std::string_view line) {
  if (!listening_ || held_.size() >= kMostHeld) return false;
  if (refusal_) return true;  // what follows repeats the same at length
  // Workers print their own lines, with any content.
  if (line.starts_with("[rank ") || line.starts_with("error: ")) return false;
  const bool frame = is_frame(line);
  const bool framed = in_frame_ || frame;
  if (frame) in_frame_ = !in_frame_;
  refusal_ = refusal_in(line, what_);
  if (!refusal_ && !framed && !sounds_like_trouble(line)) return false;
  held_.emplace_back(line);
  return true;
}

std::vector<std::string> RefusalListener::stop() {
  listening_ = false;
  return refusal_ ? std::vector<std::string>() : std::exchange(held_, {});
}

}  // namespace lockstep::launch
