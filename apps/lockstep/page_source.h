#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lockstep/report/page/page.h"
#include "lockstep/store/store.h"
#include "run_digests.h"

namespace lockstep::cli {

/// Which runs of a store a page is about: those named, else those of a study, else all.
struct PageSelection {
  std::string study{};
  std::vector<std::int64_t> runs{};
};

/// How the page looks at them.
struct PageTerms {
  report::StudyOptions options{};
  std::map<std::string, double> price_per_hour{};
};

/// Finished runs are compared; runs that were named show whatever they have. Throws kData for a run
/// or study that is not there; a store without finished runs gives a page without data.
report::PageSource stored_page(store::Store& store, const PageSelection& selection,
                               RunDigests& digests, const PageTerms& terms = {});

/// From a measurements table. Throws kData as its reader does.
report::PageSource table_page(const std::string& path, const PageTerms& terms = {});

}  // namespace lockstep::cli
