package import FlowControl
package import HTTPServer
package import HTTPWire
package import Repository
package import ServiceCore
internal import Settings
package import SystemSupport
package import WireFormats

/// The parts of the service that handlers use.
package final class ServiceParts: Sendable {
    package let repository: ModelRepository
    /// The taught models; nil if teaching is turned off.
    package let taught: TaughtModels?
    package let metrics: ServiceMetrics
    package let work: WorkQueue
    /// Look at answers after they are sent; empty if nothing does.
    package let watchers: [any AnswerWatcher]
    /// The monitors for drift; nil for a service without them.
    package let drift: DriftMonitors?
    /// The kept pictures; nil if none are kept.
    package let kept: PictureKeeper?
    let updates = UpdateGate()

    // Wide: the parts of a service, each under its name.
    package init(
        repository: ModelRepository, taught: TaughtModels?, metrics: ServiceMetrics, work: WorkQueue,
        watchers: [any AnswerWatcher] = [], drift: DriftMonitors? = nil, kept: PictureKeeper? = nil
    ) {
        self.watchers = watchers
        self.drift = drift
        self.kept = kept
        self.repository = repository
        self.taught = taught
        self.metrics = metrics
        self.work = work
    }
}

/// A request for a resource, as it is known when its head has arrived. A class, because closures copy it.
package final class Call: Sendable {
    package let parts: ServiceParts
    /// The values of the placeholders in the path.
    package let path: PathTemplate.Names
    package let head: RequestHead
    package let live: LiveSettings
    /// The fields of the answer that depend on its route.
    package let place: Place
    package let sender: ClientIdentity
    /// The sender; nil for requests other than predictions and teaching.
    package let client: ClientIdentity?

    // Wide: a record, in the order of its fields.
    package init(
        parts: ServiceParts, path: PathTemplate.Names, head: RequestHead, live: LiveSettings, place: Place,
        sender: ClientIdentity, client: ClientIdentity?
    ) {
        self.parts = parts
        self.path = path
        self.head = head
        self.live = live
        self.place = place
        self.sender = sender
        self.client = client
    }

    /// The sender's claim on slots and in the work queue.
    package var claim: Claim { Claim(client: sender.number) }

    /// The deadline of a request that gives none itself.
    package func deadline(of request: HTTPRequest) -> MonotonicInstant {
        request.deadline(usual: live.settings.deadline)
    }

    /// Computes for a request in the client's turn, in the work queue.
    package func computed<Value: Sendable>(
        _ request: HTTPRequest, _ body: @escaping @Sendable () throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        try await parts.work.run(for: claim, until: deadline(of: request)) {
            (_) throws(ServiceError) in try body()
        }
    }

    /// Reads a request's body; a long one in the client's turn, in the work queue.
    package func read<Value: Sendable>(
        _ request: HTTPRequest, _ body: @escaping @Sendable () throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        try await parts.work.read(
            request.body.count, for: claim, until: deadline(of: request)
        ) { (_) throws(ServiceError) in try body() }
    }

    // MARK: Taught models

    /// The taught models; throws 404 if teaching is turned off.
    package func taughtModels() throws(ServiceError) -> TaughtModels {
        guard let taught = parts.taught else {
            throw ServiceError(
                .notFound, "teaching is turned off: set `taught_dir` to a folder to keep taught models in")
        }
        return taught
    }

    /// Refuses, with 400, a request for a taught model on a route for models of the repository.
    package func refuseTaught() throws(ServiceError) {
        guard let taught = parts.taught, taught.owns(path.name) else { return }
        throw taught.refusal(path.name)
    }
}

/// Answers requests by its methods, one for each row of the table of routes.
package protocol CallHandler: Sendable {
    /// Creates the handler when the head has arrived. A wrong call is refused here, before the client sends
    /// the body.
    init(_ call: Call) throws(ServiceError)
}
