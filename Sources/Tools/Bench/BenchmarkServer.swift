package import Repository
package import ServicePlanning

/// A running server that a benchmark measures. The program that runs the benchmark starts it: commands do not depend on
/// the daemon.
package struct BenchmarkServer: Sendable {
    /// Starts to serve the models of a repository, on a free port of the loopback interface.
    package typealias Start = @Sendable (ServicePlan, ModelRepository) throws -> BenchmarkServer

    /// The address on which it listens: `127.0.0.1:PORT`.
    let address: String
    /// Closes the port, after waiting a short time for requests in progress.
    let stop: @Sendable () async -> Void

    package init(address: String, stop: @escaping @Sendable () async -> Void) {
        self.address = address
        self.stop = stop
    }
}
