#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lockstep/base/error.h"
#include "lockstep/import/importer.h"
#include "lockstep/import/run_record.h"

// LOCKSTEP_FUZZ_FORMAT names the reader; "" lets the importer recognise the bytes, as users do.

namespace {

lockstep::import::Importer make_importer() {
  lockstep::import::ImportOptions options;
  options.format = LOCKSTEP_FUZZ_FORMAT;
  if (options.format == "pattern") {
    options.format.clear();
    options.pattern = R"((?<run>\w+) epoch (?<epoch>\d+) loss (?<loss>\S+))";
  }
  return lockstep::import::Importer(options);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  static const import::Importer importer = make_importer();
  try {
    import::Input input("fuzz_4gpus",
                        import::bytes_in_memory({reinterpret_cast<const char*>(data), size}));
    for (const import::ImportedRun& run : importer.read(input).runs) import::to_record(run, "fuzz");
  } catch (const Error& error) {
    // Damaged files are refused as data; anything else is a finding.
    if (error.kind() != ErrorKind::kData) std::abort();
  }
  return 0;
}
