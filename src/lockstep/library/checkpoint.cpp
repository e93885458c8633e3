#include "lockstep/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "lockstep/base/system/file_descriptor.h"
#include "lockstep/library/job_state.h"
#include "lockstep/library/optimizer_state.h"
#include "lockstep/library/replica.h"
#include "lockstep/train/sync/flat_parameters.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWriteHint = "save into a writable folder with enough free space";

[[noreturn]] void cannot_write(const std::string& path) {
  throw Error(ErrorKind::kData, fmt::format("cannot write {}: {}", path, std::strerror(errno)),
              kWriteHint);
}

void sync_path(const std::string& path, int flags) {
  const FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0) cannot_write(path);
}

/// Aside first, so that a write that is interrupted leaves the file before it.
void write_file(const std::string& path, torch::serialize::OutputArchive& archive) {
  const std::string aside = path + ".part";
  const fs::path folder = fs::path(path).parent_path();
  std::error_code ignored;
  if (!folder.empty()) fs::create_directories(folder, ignored);
  {
    std::ofstream out(aside, std::ios::binary | std::ios::trunc);
    if (!out) cannot_write(path);
    archive.save_to(out);
    if (!out.flush()) cannot_write(path);
  }
  sync_path(aside, O_RDONLY);
  if (std::rename(aside.c_str(), path.c_str()) != 0) cannot_write(path);
  sync_path(folder.empty() ? "." : folder.string(), O_RDONLY | O_DIRECTORY);
}

/// What rank 0 found, for all ranks: empty text and no error where there is no file.
struct ReadFile {
  std::string bytes;
  std::string problem;
};

ReadFile read_file(const std::string& path) {
  ReadFile file;
  std::error_code problem;
  if (!fs::exists(path, problem)) return file;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  file.bytes = text.str();
  if (!in || file.bytes.empty()) file.problem = "cannot read " + path;
  return file;
}

/// Values on the CPU into a module on any device, where it stays: LibTorch would move it to them.
void load_module(torch::nn::Module& module, torch::serialize::InputArchive& archive) {
  auto tensors = library::tensors_of(module);
  std::vector<torch::Device> devices;
  for (const auto& entry : tensors) devices.push_back(entry.tensor.device());
  module.load(archive);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    torch::Tensor& tensor = tensors[i].tensor;
    if (tensor.device() != devices[i]) tensor.set_data(tensor.data().to(devices[i]));
  }
}

void load_tensor(const torch::Tensor& value, torch::Tensor& tensor) {
  const torch::NoGradGuard no_grad;
  if (tensor.defined() && tensor.sizes() == value.sizes()) {
    tensor.copy_(value);
  } else {
    tensor = value.to(tensor.defined() ? tensor.device() : torch::Device(torch::kCPU));
  }
}

/// LibTorch's schedules are not saved by any function of theirs.
struct StepCount : torch::optim::LRScheduler {
  static unsigned& of(torch::optim::LRScheduler& schedule) {
    return schedule.*(&StepCount::step_count_);
  }
};

}  // namespace

Checkpoint& Checkpoint::add_number(const std::string& name, std::function<double()> get,
                                   std::function<void(double)> set) {
  entries_.push_back({name,
                      [get = std::move(get)](torch::serialize::OutputArchive& archive) {
                        archive.write("value", torch::tensor(get(), torch::kDouble));
                      },
                      [set = std::move(set)](torch::serialize::InputArchive& archive) {
                        torch::Tensor value;
                        archive.read("value", value);
                        set(value.item<double>());
                      },
                      {}});
  return *this;
}

Checkpoint& Checkpoint::add(const std::string& name, torch::Tensor& tensor) {
  entries_.push_back({name,
                      [&tensor](torch::serialize::OutputArchive& archive) {
                        archive.write("value", tensor.detach());
                      },
                      [&tensor](torch::serialize::InputArchive& archive) {
                        torch::Tensor value;
                        archive.read("value", value);
                        load_tensor(value, tensor);
                      },
                      {}});
  return *this;
}

Checkpoint& Checkpoint::add(const std::string& name, torch::optim::LRScheduler& schedule) {
  return add(name, StepCount::of(schedule));
}

Checkpoint& Checkpoint::add(const std::string& name,
                            const std::shared_ptr<torch::nn::Module>& module) {
  entries_.push_back(
      {name,
       [module](torch::serialize::OutputArchive& archive) { module->save(archive); },
       [module](torch::serialize::InputArchive& archive) { load_module(*module, archive); },
       {},
       [] { return torch::Device(torch::kCPU); }});
  return *this;
}

Checkpoint& Checkpoint::add(const std::string& name, torch::optim::Optimizer& optimizer) {
  entries_.push_back(
      {name,
       [&optimizer](torch::serialize::OutputArchive& archive) { optimizer.save(archive); },
       [&optimizer](torch::serialize::InputArchive& archive) {
         library::load_with_options(optimizer, archive);
       },
       {},
       [&optimizer] { return train::common_device(optimizer.param_groups()[0].params()); }});
  return *this;
}

Checkpoint& Checkpoint::add(const std::string& name, ShardedOptimizer& optimizer) {
  entries_.push_back(
      {name, [&optimizer](torch::serialize::OutputArchive& archive) { optimizer.save(archive); },
       [&optimizer](torch::serialize::InputArchive& archive) { optimizer.load(archive); },
       [&optimizer] { optimizer.gather(); },
       [&optimizer] {
         return train::common_device(optimizer.local().param_groups()[0].params());
       }});
  return *this;
}

Checkpoint& Checkpoint::add(const std::string& name, Sampler& sampler) {
  entries_.push_back(
      {name,
       [&sampler](torch::serialize::OutputArchive& archive) { sampler.save(archive); },
       [&sampler](torch::serialize::InputArchive& archive) { sampler.load(archive); },
       {}});
  return *this;
}

void Checkpoint::save(const std::string& path) {
  for (const Entry& entry : entries_) {
    if (entry.prepare) entry.prepare();
  }
  std::string problem;
  if (job_.is_main()) {
    try {
      torch::serialize::OutputArchive archive;
      for (const Entry& entry : entries_) {
        torch::serialize::OutputArchive part(archive.compilation_unit());
        entry.save(part);
        archive.write(entry.name, part);
      }
      write_file(path, archive);
    } catch (const std::exception& error) {
      problem = error.what();
    }
  }
  problem = job_.broadcast(problem);
  if (!problem.empty()) job_.state().fail(Error(ErrorKind::kData, problem, kWriteHint));
}

bool Checkpoint::load(const std::string& path) {
  ReadFile file;
  if (job_.is_main()) file = read_file(path);
  const std::string problem = job_.broadcast(file.problem);
  if (!problem.empty())
    job_.state().fail(Error(ErrorKind::kData, problem, "check its permissions"));
  const std::string bytes = job_.broadcast(file.bytes);
  if (bytes.empty()) return false;
  std::string at = "the file";
  try {
    std::optional<torch::serialize::InputArchive> archive;
    std::optional<torch::Device> device;
    for (const Entry& entry : entries_) {
      // Rarely more than one device, for all that have one.
      if (!archive || (entry.device && device != entry.device())) {
        device = entry.device ? entry.device() : torch::Device(torch::kCPU);
        std::istringstream in(bytes);
        archive.emplace().load_from(in, *device);
      }
      at = "'" + entry.name + "'";
      torch::serialize::InputArchive part;
      archive->read(entry.name, part);
      entry.load(part);
    }
  } catch (const std::exception& error) {
    const std::string text = error.what();
    job_.state().fail(Error(ErrorKind::kData,
                            fmt::format("{} is not a checkpoint of this program: {}: {}", path, at,
                                        text.substr(0, text.find('\n'))),
                            "move it away to start from the beginning"));
  }
  return true;
}

}  // namespace lockstep
