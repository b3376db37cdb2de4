internal import Glibc
internal import HTTPServer
internal import Inference
internal import LoadGenerator
internal import Settings

/// A server in this process, on a free port of the loopback interface, as the daemon would make it: with routes, metrics
/// and access lines, which go to /dev/null.
struct BenchListener: Sendable {
    let target: LoadTarget
    private let server: HTTPServer
    private let service: Service
    private let sink: Int32

    init(_ model: BenchModel) throws {
        let settings = model.plan.settings
        sink = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard sink >= 0 else { throw StartupError("/dev/null cannot be opened") }
        let log = try Log(level: settings.level, format: settings.format, descriptor: sink)
        let metrics = ServiceMetrics()
        service = Service(
            repository: model.repository, settings: LiveSettings(settings: settings, access: .open), metrics: metrics,
            log: log)
        let configuration = try model.plan.serverConfiguration(listeners: [.tcp(host: "127.0.0.1", port: 0)])
        server = HTTPServer(
            configuration: configuration, responder: service,
            observer: ExchangeObserver(
                metrics: metrics, accessLog: AccessLog(log, isEnabled: settings.accessLog)))
        service.watch(server)
        do {
            guard let address = try server.start().first else { throw HTTPServerError.noListener }
            target = try LoadTarget(parsing: "http://\(address)/v1/classify")
        } catch {
            close(sink)
            throw StartupError("\(error)")
        }
    }

    func stop() async {
        _ = await server.shutdown(within: .seconds(2))
        close(sink)
    }
}
