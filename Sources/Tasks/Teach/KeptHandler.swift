internal import FlowControl
internal import FoundationEssentials
package import HTTPServer
internal import HTTPWire
internal import ImagePipeline
internal import JSON
internal import Keeping
internal import ServiceCore
internal import Settings
internal import SystemSupport
package import WireFormats

/// Answers the routes of kept pictures.
package struct KeptHandler: CallHandler {
    private let call: Call
    private let keeper: PictureKeeper

    package init(_ call: Call) throws(ServiceError) {
        guard let keeper = call.parts.kept else {
            throw ServiceError(
                .notFound, "no pictures are kept: set `keep_dir` to a folder to keep uncertain pictures in")
        }
        self.call = call
        self.keeper = keeper
    }

    /// Lists the kept pictures, newest first.
    package func list(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let query = try KeptQuery(call.head.target), shelf = keeper.shelf
        let after = try query.place(in: shelf)
        return try await call.parts.work.run(
            for: call.claim.working(WorkQueue.writingTime(labels: 10 * query.limit)), until: call.deadline(of: request)
        ) { (_) throws(ServiceError) in
            let page = shelf.page(model: query.model, reason: query.reason, after: after, limit: query.limit)
            return Self.write(page)
        }
    }

    private static func write(_ page: KeptShelf.Page) -> HTTPResponse {
        TaughtWriter.json(.ok) { writer in
            writer.object { writer in
                writer.key("kept")
                writer.array { writer in
                    for picture in page.pictures {
                        writer.object { writer in
                            writer.member("id", picture.id)
                            writer.member("model", picture.model)
                            writer.member("version", picture.version)
                            writer.member("why", picture.listed)
                            let time = Date(timeIntervalSince1970: Double(picture.time / 1_000))
                            writer.member("at", time.formatted(.iso8601))
                            writer.member("bytes", picture.bytes)
                            writer.member("type", picture.type)
                        }
                    }
                }
                writer.key("next")
                if let next = page.next { writer.string(next.description) } else { writer.null() }
            }
        }
    }

    /// Answers a picture with the bytes as they were sent.
    package func picture(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let id = try id()
        let found = try await inTurn(request) { $0.read(id).map { Found(picture: $0.picture, bytes: $0.bytes) } }
        guard let found else { throw Self.absence(of: id) }
        let ending = ImageFormat.allCases.first { $0.mediaType == found.picture.type }?.endings.first ?? ""
        return HTTPResponse(
            status: .ok,
            fields: [
                ("Content-Type", found.picture.type), ("X-Content-Type-Options", "nosniff"),
                ("Content-Disposition", "attachment; filename=\"\(id)\(ending)\""),
                ("Cache-Control", "private, no-store"),
            ], body: found.bytes)
    }

    private struct Found: Sendable {
        let picture: KeptPicture
        let bytes: [UInt8]
    }

    package func delete(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let id = try id()
        let count = try await removed(request) { (store) throws(KeepingError) in try store.remove([id]) }
        guard count > 0 else { throw Self.absence(of: id) }
        return HTTPResponse(status: .noContent)
    }

    /// Deletes all pictures of a model.
    package func deleteAll(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        var model: String?
        for parameter in try RequestParameter.all(call.head.target, form: []) {
            guard parameter.name == "model" else {
                throw .badRequest("unknown query parameter \"\(parameter.name.prefix(60))\"; known: model")
            }
            model = parameter.value
        }
        guard let model else {
            throw .badRequest("\"model\" is missing: add ?model=, the model whose kept pictures are deleted")
        }
        _ = try await removed(request) { (store) throws(KeepingError) in
            try store.remove { $0.model == model }
        }
        return HTTPResponse(status: .noContent)
    }

    /// The work that removes pictures, and returns their number.
    private typealias Work = @Sendable (KeptStore) throws(KeepingError) -> Int

    private func removed(_ request: HTTPRequest, _ work: @escaping Work) async throws(ServiceError) -> Int {
        let outcome = try await inTurn(request) { store in Removal(store, work) }
        do throws(KeepingError) {
            return try outcome.result.get()
        } catch {
            throw ServiceError(.internal, "the kept pictures cannot be deleted: \(error.message)")
        }
    }

    /// The number of removed pictures. A structure, because the compiler fails on results with a typed error as generic
    /// arguments.
    private struct Removal: Sendable {
        let result: Result<Int, KeepingError>

        init(_ store: KeptStore, _ work: Work) {
            do throws(KeepingError) {
                result = .success(try work(store))
            } catch {
                result = .failure(error)
            }
        }
    }

    private func inTurn<Value: Sendable>(
        _ request: HTTPRequest, _ body: @escaping @Sendable (KeptStore) -> Value
    ) async throws(ServiceError) -> Value {
        do throws(AdmissionError) {
            return try await keeper.inTurn(deadline: call.deadline(of: request), claim: call.claim, body)
        } catch {
            throw ServiceError(error)
        }
    }

    private func id() throws(ServiceError) -> String {
        let text = call.path.id ?? ""
        guard let id = KeptPicture.id(text) else {
            throw ServiceError(
                .notFound,
                "there is no kept picture \"\(text.prefix(80))\": an id is the SHA-256 of a picture, 64 hexadecimal digits"
            )
        }
        return id
    }

    private static func absence(of id: String) -> ServiceError {
        ServiceError(.notFound, "the picture \(id) is not kept; /v1/kept lists those that are")
    }
}

/// The parameters of a list of kept pictures: the model, the reason, and the page.
struct KeptQuery: Sendable {
    private(set) var model: String?
    private(set) var reason: KeptReason?
    private(set) var limit = 100
    /// The last picture of the page before: its id, or that page's `next`.
    private var after: RequestParameter?

    private static let maximumPictures = 1_000

    init(_ target: RequestTarget) throws(ServiceError) {
        for parameter in try RequestParameter.all(target, form: []) {
            switch parameter.name {
            case "model": model = parameter.value
            case "why":
                guard let reason = KeptReason(rawValue: parameter.value) else {
                    throw parameter.mistake("uncertain, unknown or disagree")
                }
                self.reason = reason
            case "limit":
                guard let number = Int(parameter.value), (1...Self.maximumPictures).contains(number) else {
                    throw parameter.mistake("a whole number from 1 to \(Self.maximumPictures)")
                }
                limit = number
            case "after": after = parameter
            default:
                throw .badRequest(
                    "unknown query parameter \"\(parameter.name.prefix(60))\"; known: model, why, limit, after")
            }
        }
    }

    /// The place that the page begins after; nil for the newest.
    func place(in shelf: KeptShelf) throws(ServiceError) -> KeptShelf.Place? {
        guard let after else { return nil }
        if let place = KeptShelf.Place(after.value) { return place }
        guard let id = KeptPicture.id(after.value), let place = shelf.place(of: id) else {
            throw after.mistake("\"next\" of the page before, or the id of a kept picture")
        }
        return place
    }
}
