import Synchronization

/// The data that an event loop shares with the server and with other threads.
final class LoopContext: Sendable {
    let configuration: HTTPServerConfiguration
    let policy: ConnectionPolicy
    let responder: any HTTPResponder
    let observer: (any HTTPServerObserver)?
    let listeners: [Listener]
    let budget: ByteBudget
    let answers: AnswerBudget
    let connectionLimit: ConnectionLimit
    let counters = LoopCounters()
    let mailbox: Mailbox
    /// One flag for all loops; once it is set, every answer closes its connection.
    let lameDuck: LameDuckFlag
    /// Reports to the server that it cannot continue.
    let reportFailure: @Sendable (HTTPServerError) -> Void
    let name: String

    // Wide: the parts of the server, each under its name, from its one place.
    init(
        configuration: HTTPServerConfiguration, responder: any HTTPResponder,
        observer: (any HTTPServerObserver)?, listeners: [Listener], budget: ByteBudget, answers: AnswerBudget,
        connectionLimit: ConnectionLimit, lameDuck: LameDuckFlag, name: String,
        reportFailure: @escaping @Sendable (HTTPServerError) -> Void
    ) throws(HTTPServerError) {
        self.configuration = configuration
        policy = ConnectionPolicy(configuration)
        self.responder = responder
        self.observer = observer
        self.listeners = listeners
        self.budget = budget
        self.answers = answers
        self.connectionLimit = connectionLimit
        self.lameDuck = lameDuck
        self.name = name
        self.reportFailure = reportFailure
        mailbox = try Mailbox()
    }
}

/// A flag that is set when the server is about to be taken out of service.
final class LameDuckFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set() { flag.store(true, ordering: .relaxed) }
}
