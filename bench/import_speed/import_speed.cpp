#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "generated_logs.h"
#include "lockstep/import/importer.h"

namespace {

using namespace lockstep;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Reads the log from a file, as users do. CPU time of the one thread that reads: other programs on
/// the machine do not count.
void measure(const bench::GeneratedLog& log, const std::string& path) {
  import::ImportOptions options;
  const import::Importer importer(options);
  const double start = cpu_seconds();
  const import::ImportedFile file = importer.read(path);
  const double seconds = cpu_seconds() - start;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{:<20} {:>8.0f} MB {:>8.2f} s {:>8.0f} MB/s {:>8.1f} MB peak  {}\n", log.name,
             static_cast<double>(file.bytes) / 1e6, seconds,
             static_cast<double>(file.bytes) / 1e6 / seconds,
             static_cast<double>(usage.ru_maxrss) * 1024 / 1e6,
             file.format == log.name ? "" : file.format);
}

void write_file(const bench::GeneratedLog& log, std::uint64_t bytes, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw std::runtime_error("cannot write " + path);
  const auto source = bench::generate(log, bytes);
  std::string buffer(1 << 20, '\0');
  while (const std::size_t count = source->read(buffer.data(), buffer.size())) {
    std::fwrite(buffer.data(), 1, count, file);
  }
  std::fclose(file);
}

}  // namespace

/// bench_import_speed [megabytes [folder [format]]]: each format is generated into a file and read
/// by a process of its own, so that peak memory is that of one import.
int main(int argc, char** argv) {
  const std::uint64_t megabytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 500;
  const std::string folder = argc > 2 ? argv[2] : "/tmp";
  const std::string only = argc > 3 ? argv[3] : "";
  for (const bench::GeneratedLog& log : bench::generated_logs()) {
    if (!only.empty() && only != log.name) continue;
    const std::string path = fmt::format("{}/lockstep-import-speed-{}.log", folder, getpid());
    try {
      write_file(log, megabytes * 1'000'000, path);
    } catch (const std::exception& problem) {
      fmt::print(stderr, "{}\n", problem.what());
      return 1;
    }
    const pid_t child = fork();
    if (child == 0) {
      measure(log, path);
      std::fflush(stdout);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    unlink(path.c_str());
    if (status != 0) return 1;
  }
}
