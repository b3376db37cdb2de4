internal import ServiceCore
internal import ServicePlanning
internal import Tasks

/// The rows of the table of routes for taught models and kept pictures.
extension Service {
    static let taughtList = RouteTable.Resource(
        ["/v1/taught"], .get(.read, "taught_models", answered(TaughtHandler.list)))

    static let taughtModel = RouteTable.Resource(
        ["/v1/taught/{name}"],
        .get(.read, "taught_model", answered(TaughtHandler.describe)),
        .put(.teach, "create_taught_model", answered(TaughtHandler.create)),
        .delete(.teach, "delete_taught_model", answered(TaughtHandler.delete)))

    static let taughtExamples = RouteTable.Resource(
        ["/v1/taught/{name}/examples"],
        .get(.teach, "examples", answered(TaughtHandler.examples)),
        .post(.teach, "teach", answered(ExamplesHandler.respond)))

    static let taughtSearch = RouteTable.Resource(
        ["/v1/taught/{name}/search"], .post(.teach, "search_examples", answered(SearchHandler.respond)))

    static let taughtExport = RouteTable.Resource(
        ["/v1/taught/{name}/export"], .get(.teach, "export_taught_model", answered(TaughtHandler.export)))

    static let taughtExample = RouteTable.Resource(
        ["/v1/taught/{name}/examples/{id}"], isSuggested: false,
        .delete(.teach, "forget_example", answered(TaughtHandler.forgetExample)))

    static let taughtClasses = RouteTable.Resource(
        ["/v1/taught/{name}/classes"], isSuggested: false,
        .delete(.teach, "forget_class", answered(TaughtHandler.forgetClass)))

    static let kept = RouteTable.Resource(
        ["/v1/kept"],
        .get(.teach, "kept_pictures", answered(KeptHandler.list)),
        .delete(.teach, "delete_kept_pictures", answered(KeptHandler.deleteAll)))

    static let keptPicture = RouteTable.Resource(
        ["/v1/kept/{id}"], isSuggested: false,
        .get(.teach, "kept_picture", answered(KeptHandler.picture)),
        .delete(.teach, "delete_kept_picture", answered(KeptHandler.delete)))

    static let taughtVersion = RouteTable.Resource(
        ["/v1/taught/{name}/versions/{version}/serve"],
        .post(.teach, "serve_taught_version", answered(TaughtHandler.serve)))
}
