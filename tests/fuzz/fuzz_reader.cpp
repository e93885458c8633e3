#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "lockstep/base/error.h"
#include "lockstep/import/importer.h"
#include "lockstep/import/registry.h"
#include "lockstep/import/run_record.h"

namespace {

std::unique_ptr<lockstep::import::Importer> g_importer;

/// The reader that the program's own name asks for: "fuzz_keras". "any" lets the importer recognise
/// the bytes, as users do.
lockstep::import::ImportOptions options_for(std::string_view program) {
  const std::string name(program.substr(program.rfind("fuzz_") + 5));
  lockstep::import::ImportOptions options;
  if (name == "pattern") {
    options.pattern = R"((?<run>\w+) epoch (?<epoch>\d+) loss (?<loss>\S+))";
  } else if (name != "any") {
    options.format = name;
  }
  return options;
}

}  // namespace

/// `fuzz_reader --list` prints the name of every target: each reader that is registered, `any` and
/// `pattern`.
extern "C" int LLVMFuzzerInitialize(int* count, char*** argv) {
  if (*count > 1 && std::string_view((*argv)[1]) == "--list") {
    std::puts("any\npattern");
    const lockstep::import::Registry registry;
    for (const auto& reader : registry.readers()) std::puts(std::string(reader->name()).c_str());
    std::exit(0);
  }
  g_importer = std::make_unique<lockstep::import::Importer>(options_for((*argv)[0]));
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  try {
    import::Input input("fuzz_4gpus",
                        import::bytes_in_memory({reinterpret_cast<const char*>(data), size}));
    for (const import::ImportedRun& run : g_importer->read(input).runs)
      import::to_record(run, "fuzz");
  } catch (const Error& error) {
    // Damaged files are refused as data; anything else is a finding.
    if (error.kind() != ErrorKind::kData) std::abort();
  }
  return 0;
}
