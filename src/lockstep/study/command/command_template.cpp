#include "lockstep/study/command/command_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include "lockstep/base/error.h"

namespace lockstep::study {

namespace {

/// What people write for a placeholder of ours. Other text in braces is the command's own.
constexpr std::array<std::pair<const char*, const char*>, 16> kMisspelt{
    {{"worker", "workers"},
     {"nproc", "workers"},
     {"n", "workers"},
     {"world_size", "workers"},
     {"batch_size", "batch"},
     {"batchsize", "batch"},
     {"batches", "batch"},
     {"b", "batch"},
     {"global-batch", "global_batch"},
     {"globalbatch", "global_batch"},
     {"epoch", "epochs"},
     {"devices", "device"},
     {"node", "nodes"},
     {"master_address", "master_addr"},
     {"port", "master_port"},
     {"nproc_per_node", "workers_per_node"}}};

void refuse_misspelt(const std::vector<std::string>& command) {
  for (const auto& [wrong, right] : kMisspelt) {
    if (!has_placeholder(command, wrong)) continue;
    throw Error(ErrorKind::kUsage, fmt::format("{{{}}} in the command is not a placeholder", wrong),
                fmt::format("write {{{}}}; placeholders are {{workers}}, {{batch}}, "
                            "{{global_batch}}, {{epochs}}, {{seed}}, {{device}}, {{threads}}, "
                            "{{nodes}}, {{workers_per_node}}, {{master_addr}} and {{master_port}}",
                            right));
  }
}

bool is_script(const std::filesystem::path& path) {
  for (const char* suffix : {".py", ".sh", ".jl", ".R", ".lua"}) {
    if (path.extension() == suffix && !path.stem().empty()) return true;
  }
  return false;
}

/// What mpirun or srun starts: "./build/train", or a program by its path.
bool is_own_program(const std::string& word) {
  if (word.starts_with("./") || word.starts_with("../")) return true;
  if (!word.starts_with('/')) return false;
  std::string begin(4, ' ');
  std::ifstream(word, std::ios::binary).read(begin.data(), 4);
  return begin ==
             "\x7f"
             "ELF" ||
         begin.starts_with("#!");
}

bool starts_ranks(const std::string& word) {
  const std::string name = std::filesystem::path(word).filename().string();
  return name == "mpirun" || name == "mpiexec" || name == "srun" || name == "orterun";
}

}  // namespace

bool names_a_program(const std::string& word) {
  const std::string name = std::filesystem::path(word).filename().string();
  constexpr std::array kPrograms{"torchrun", "accelerate", "deepspeed", "mpirun",
                                 "srun",     "horovodrun", "bash",      "sh"};
  return is_script(word) || name.starts_with("python") || word.starts_with("./") ||
         std::find(kPrograms.begin(), kPrograms.end(), name) != kPrograms.end();
}

std::string command_title(const std::vector<std::string>& command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (is_script(command[i])) return std::filesystem::path(command[i]).filename().string();
    // A module that an interpreter runs; of launchers, which are modules too, the script counts.
    const bool module = command[i] == "-m" && i + 1 < command.size();
    if (module && std::none_of(command.begin(), command.end(), is_script)) return command[i + 1];
  }
  for (const std::string& word : std::span(command).subspan(1)) {
    const bool program = starts_ranks(command.front()) && is_own_program(word);
    if (program) return std::filesystem::path(word).filename().string();
  }
  return std::filesystem::path(command.front()).filename().string();
}

bool runs_python(const std::vector<std::string>& command) {
  return std::any_of(command.begin(), command.end(), [](const std::filesystem::path& word) {
    return word.extension() == ".py" || word.filename().string().starts_with("python");
  });
}

std::string script_name(const std::vector<std::string>& command) {
  const std::filesystem::path title = command_title(command);
  return is_script(title) ? title.stem().string() : title.string();
}

bool has_placeholder(const std::vector<std::string>& command, const std::string& name) {
  const std::string placeholder = "{" + name + "}";
  for (const std::string& word : command) {
    if (word.find(placeholder) != std::string::npos) return true;
  }
  return false;
}

std::vector<std::string> expand_command(const std::vector<std::string>& command,
                                        const PlannedRun& planned, const CommandValues& values) {
  const std::pair<std::string, std::string> replacements[] = {
      {"{workers}", std::to_string(planned.cell.workers)},
      {"{batch}", std::to_string(planned.cell.batch_per_worker)},
      {"{global_batch}", std::to_string(planned.cell.global_batch())},
      {"{epochs}", std::to_string(values.epochs)},
      {"{seed}", std::to_string(values.seed + static_cast<std::uint64_t>(planned.repeat - 1))},
      {"{device}", values.device},
      {"{threads}", std::to_string(values.threads)},
      {"{nodes}", std::to_string(values.nodes)},
      {"{workers_per_node}", std::to_string(values.workers_per_node)},
      {"{master_addr}", values.master_address},
      {"{master_port}", values.master_port}};
  std::vector<std::string> expanded = command;
  for (std::string& word : expanded) {
    for (const auto& [placeholder, text] : replacements) {
      for (std::size_t at = word.find(placeholder); at != std::string::npos;
           at = word.find(placeholder, at + text.size())) {
        word.replace(at, placeholder.size(), text);
      }
    }
  }
  return expanded;
}

void check_command(const std::vector<std::string>& command, const Sweep& sweep,
                   const CommandValues& values, bool launcher_sets_workers) {
  refuse_misspelt(command);
  if (sweep.workers.size() > 1 && !launcher_sets_workers && !has_placeholder(command, "workers") &&
      !has_placeholder(command, "workers_per_node")) {
    throw Error(ErrorKind::kUsage,
                "the study has several worker counts, but the command takes none",
                "write {workers} where your program takes the number of workers");
  }
  const bool batches = sweep.batches.size() > 1 || sweep.global_batches.size() > 1 ||
                       sweep.ladder.rungs().size() > 1;
  if (batches && !has_placeholder(command, "batch") && !has_placeholder(command, "global_batch")) {
    throw Error(ErrorKind::kUsage, "the study has several batches, but the command takes none",
                "write {batch} (per worker) or {global_batch} where your program takes the batch");
  }
  if (has_placeholder(command, "device") && values.device.empty()) {
    throw Error(ErrorKind::kUsage, "the command contains {device}, but no device was given",
                "add --device NAME");
  }
  if (has_placeholder(command, "threads") && values.threads == 0) {
    throw Error(ErrorKind::kUsage, "the command contains {threads}, but no number was given",
                "add --threads N");
  }
}

}  // namespace lockstep::study
