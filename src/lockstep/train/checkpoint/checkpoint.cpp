#include "lockstep/train/checkpoint/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "lockstep/base/digest.h"
#include "lockstep/base/error.h"
#include "lockstep/base/terminal/log.h"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// 1 kept the memory of SGD alone, under `velocity`.
constexpr int kManifestVersion = 2;
constexpr std::size_t kKept = 2;
constexpr char kClaimFile[] = "/writer";

[[noreturn]] void fail(const std::string& path, const char* doing) {
  throw Error(ErrorKind::kData, fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno)),
              "check the folder's permissions and the free disk space");
}

/// Puts `bytes` at `path` so that at any moment the path has either the old content or all of the
/// new one. `check` is called right before, and may throw.
void write_atomically(const std::string& path, std::span<const char> bytes,
                      const std::function<void()>& check) {
  const std::string temporary = path + ".tmp";
  // A file without a name, where the file system has such: nothing is left of one that was being
  // written when the process was killed.
  const std::string folder = fs::path(path).parent_path().string();
  int fd = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0644);
  const bool nameless = fd >= 0;
  if (!nameless) fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) fail(temporary, "create");
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t wrote = ::write(fd, bytes.data() + at, bytes.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const int problem = errno;
      ::close(fd);
      ::unlink(temporary.c_str());
      errno = problem;
      fail(temporary, "write");
    }
    at += static_cast<std::size_t>(wrote);
  }
  bool on_disk = ::fsync(fd) == 0;
  try {
    check();
  } catch (const Error&) {
    ::close(fd);
    if (!nameless) ::unlink(temporary.c_str());
    throw;
  }
  if (on_disk && nameless) {
    ::unlink(temporary.c_str());
    on_disk = ::linkat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd)).c_str(), AT_FDCWD,
                       temporary.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }
  ::close(fd);
  if (!on_disk || ::rename(temporary.c_str(), path.c_str()) != 0) fail(path, "write");
}

/// Makes renames inside the folder last through a power cut.
void sync_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

c10::Dict<std::string, at::Tensor> to_dict(const std::vector<NamedTensor>& tensors) {
  c10::Dict<std::string, at::Tensor> dict;
  for (const auto& [name, tensor] : tensors) dict.insert(name, tensor.detach().clone());
  return dict;
}

std::vector<NamedTensor> from_dict(const c10::IValue& value) {
  std::vector<NamedTensor> tensors;
  for (const auto& entry : value.toGenericDict()) {
    tensors.push_back({entry.key().toStringRef(), entry.value().toTensor()});
  }
  return tensors;
}

json to_manifest(const Checkpoint& c, const std::string& file, std::span<const char> bytes) {
  return {{"v", kManifestVersion},
          {"file", file},
          {"bytes", bytes.size()},
          {"digest", format_digest(digest(std::as_bytes(bytes)))},
          {"recipe", c.identity.recipe},
          {"parameters", c.identity.parameters},
          {"seed", c.identity.seed},
          {"global_batch", c.identity.global_batch},
          {"optimizer", record::name_of(c.identity.optimizer)},
          {"figures", c.figures},
          {"epoch", c.position.epoch},
          {"step", c.position.step},
          {"total_steps", c.position.total},
          {"loss_sum", c.position.loss_sum},
          {"correct", c.position.correct},
          {"examples", c.position.examples}};
}

std::vector<char> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(path, "read");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Checkpoint read_checkpoint(const std::string& folder, const std::string& manifest_path) {
  const json manifest = json::parse(std::ifstream(manifest_path));
  const int version = manifest.at("v").get<int>();
  if (version > kManifestVersion) {
    throw Error(ErrorKind::kData, manifest_path + " was written by a newer lockstep",
                "use that version to resume");
  }
  const std::string path = folder + "/" + manifest.at("file").get<std::string>();
  const std::vector<char> bytes = read_file(path);
  // Checked before LibTorch sees a byte: its unpickler may abort the process on invalid input.
  if (bytes.size() != manifest.at("bytes").get<std::size_t>() ||
      format_digest(digest(std::as_bytes(std::span(bytes)))) != manifest.at("digest")) {
    throw Error(ErrorKind::kData, path + " does not match its manifest: truncated or damaged");
  }
  Checkpoint c;
  c.identity = {manifest.at("recipe"), manifest.at("parameters"), manifest.at("seed"),
                manifest.at("global_batch"),
                record::recorded_choice<record::Optimizer>(manifest.value("optimizer", "sgd"))};
  c.position = {manifest.at("epoch"),    manifest.at("step"),    manifest.at("total_steps"),
                manifest.at("loss_sum"), manifest.at("correct"), manifest.at("examples")};
  const auto content = torch::pickle_load(bytes).toGenericDict();
  c.model = from_dict(content.at("model"));
  if (version == 1) {
    c.optimizer = from_dict(content.at("velocity"));
    for (NamedTensor& memory : c.optimizer) memory.name = "velocity/" + memory.name;
    return c;
  }
  c.optimizer = from_dict(content.at("optimizer"));
  c.figures = manifest.at("figures").get<std::map<std::string, double>>();
  return c;
}

/// Manifests in the folder, newest first.
std::vector<fs::path> manifests(const std::string& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("checkpoint-") && name.ends_with(".json")) found.push_back(entry.path());
  }
  // The step count in the name has a fixed width, so names sort by age.
  std::sort(found.rbegin(), found.rend());
  return found;
}

bool is_between_epochs(const fs::path& manifest) {
  const json read = json::parse(std::ifstream(manifest), nullptr, false);
  return read.is_object() && read.value("step", -1) == 0;
}

}  // namespace

CheckpointFolder::CheckpointFolder(std::string path) : path_(std::move(path)) {
  std::error_code problem;
  fs::create_directories(path_, problem);
  if (problem || ::access(path_.c_str(), W_OK | X_OK) != 0) {
    throw Error(ErrorKind::kData, fmt::format("cannot write checkpoints to {}", path_),
                "give --checkpoint a writable folder");
  }
}

void CheckpointFolder::claim() {
  std::random_device random;
  claim_ = fmt::format("process {} {:08x}{:08x}\n", ::getpid(), random(), random());
  write_atomically(path_ + kClaimFile, claim_, [] {});
}

void CheckpointFolder::check_claim() const {
  if (claim_.empty()) return;
  const std::vector<char> writer = read_file(path_ + kClaimFile);
  if (std::string_view(writer.data(), writer.size()) == claim_) return;
  throw Error(ErrorKind::kData, fmt::format("another run writes its checkpoints to {}", path_),
              "give each run its own --checkpoint folder");
}

std::string CheckpointFolder::write(const Checkpoint& checkpoint) {
  c10::impl::GenericDict content(c10::StringType::get(), c10::AnyType::get());
  content.insert("model", to_dict(checkpoint.model));
  content.insert("optimizer", to_dict(checkpoint.optimizer));
  const std::vector<char> bytes = torch::pickle_save(content);

  const std::string stem = fmt::format("checkpoint-{:012}", checkpoint.position.total);
  const std::string file = stem + ".pt";
  const std::string manifest = to_manifest(checkpoint, file, bytes).dump(2) + "\n";
  const auto check = [this] { check_claim(); };
  write_atomically(path_ + "/" + file, bytes, check);
  write_atomically(path_ + "/" + stem + ".json", manifest, check);
  sync_folder(path_);
  remove_old();
  return path_ + "/" + file;
}

std::optional<Checkpoint> CheckpointFolder::read_newest(
    const std::function<bool(const Checkpoint&)>& fits) const {
  for (const auto& manifest : manifests(path_)) {
    try {
      auto checkpoint = read_checkpoint(path_, manifest.string());
      if (fits(checkpoint)) return checkpoint;
    } catch (const std::exception& problem) {
      log_warning(fmt::format("skipping a checkpoint: {}", problem.what()));
    }
  }
  return std::nullopt;
}

void CheckpointFolder::remove_old() const {
  const auto all = manifests(path_);
  const auto between = std::find_if(all.begin(), all.end(),
                                    [](const fs::path& one) { return is_between_epochs(one); });
  for (std::size_t i = kKept; i < all.size(); ++i) {
    if (between != all.end() && all[i] == *between) continue;
    fs::remove(all[i]);
    fs::remove(fs::path(all[i]).replace_extension(".pt"));
  }
  for (const auto& entry : fs::directory_iterator(path_)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("checkpoint-") && name.ends_with(".tmp")) fs::remove(entry.path());
  }
}

void copy_tensors(const std::vector<NamedTensor>& from, const std::vector<NamedTensor>& to) {
  const auto differ = [](const std::string& what) {
    throw Error(ErrorKind::kData, "the checkpoint belongs to another network: " + what,
                "resume with the recipe that wrote it, or give another --checkpoint folder");
  };
  if (from.size() != to.size()) {
    differ(fmt::format("{} tensors instead of {}", from.size(), to.size()));
  }
  torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : to) {
    const auto found = std::find_if(from.begin(), from.end(),
                                    [&](const NamedTensor& entry) { return entry.name == name; });
    if (found == from.end()) differ(fmt::format("it has no '{}'", name));
    if (found->tensor.sizes() != tensor.sizes())
      differ(fmt::format("'{}' has a different shape", name));
    tensor.copy_(found->tensor);
  }
}

}  // namespace lockstep::train
