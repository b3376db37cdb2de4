internal import Glibc
internal import HTTPServer
internal import HTTPWire
internal import Inference
package import Repository
internal import ServiceCore
package import ServicePlanning
internal import Settings
internal import SystemSupport

/// A server in this process, on a free port of the loopback interface, made as by the daemon: with routes, metrics and
/// an access log, which goes to /dev/null.
package struct LoopbackServer: Sendable {
    /// The address on which it listens: `127.0.0.1:PORT`.
    package let address: String
    private let server: HTTPServer
    private let service: Service
    private let sink: Int32

    /// Starts to serve the models of a repository.
    package init(_ plan: ServicePlan, _ repository: ModelRepository) throws {
        let settings = plan.settings
        sink = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard sink >= 0 else { throw CommandError("cannot open /dev/null") }
        let log = try Log(level: settings.logLevel, format: settings.logFormat, descriptor: sink)
        let metrics = ServiceMetrics()
        let listening = try ListenPlan(["127.0.0.1:0"], passed: SystemdSockets(environment: [:], processID: 0))
        service = Service(
            repository: repository, settings: LiveSettings(settings: settings, access: .open),
            listenerRoutes: ListenerRoutes(classes: listening.routes), metrics: metrics, log: log)
        let configuration = plan.serverConfiguration(listening, trustedProxies: .none)
        server = HTTPServer(
            configuration: configuration, responder: service,
            observer: ExchangeObserver(
                metrics: metrics, accessLog: AccessLog(log, isEnabled: settings.accessLog)))
        service.watch(server)
        do {
            guard let address = try server.start().first else { throw HTTPServerError.noListener }
            self.address = address
        } catch {
            close(sink)
            throw CommandError("\(error)")
        }
    }

    /// Closes the port, after waiting at most two seconds for requests in progress.
    package func stop() async {
        _ = await server.shutdown(within: .seconds(2))
        close(sink)
    }
}
