#include "understand/live_site.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "lockstep/collect/calibrated_links.h"
#include "lockstep/import/import_store.h"
#include "lockstep/report/page/html.h"
#include "lockstep/report/page/page_source.h"

namespace lockstep::cli {

serve::Site live_site(const std::string& store_path) {
  serve::Site site;
  site.html = report::live_html();
  site.policy = report::live_policy();
  const auto digests = std::make_shared<collect::RunDigests>();
  site.page = [store_path, digests](const serve::PageQuestion& question) {
    std::error_code ignored;
    report::PageSource source;
    if (std::filesystem::exists(store_path, ignored)) {
      store::Store store(store_path);
      report::StudyOptions options;
      options.links = collect::calibrated_links(store_path, question.study);
      source = report::stored_page(store, {question.study, question.runs}, *digests, options);
    }
    return report::page_json(report::build_page(source))
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  site.import_file = [store_path](const std::string& name, const std::string& path) {
    return import::import_sent_file(store_path, name, path)
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  site.explain_file = [](const std::string& name, const std::string& path) {
    return import::explain_sent_file(name, path)
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  return site;
}

}  // namespace lockstep::cli
