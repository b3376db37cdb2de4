// The server in its own process, for tests and benchmarks: with routes that show the server's state, and settings as
// `name=value` arguments. It prints the bound addresses, then `ready`, and ends when standard input ends. With the
// argument `survive` it does not end when the server fails.

import CSystem
import Glibc
import HTTPServer

var configuration = HTTPServerConfiguration(listeners: [.tcp(host: "127.0.0.1", port: 0)])
var drain = Duration.seconds(5)
do {
    try ProbeSettings.apply(
        CommandLine.arguments.dropFirst().filter { $0 != "survive" }, to: &configuration, drain: &drain)
} catch {
    print("probe: \(error)")
    exit(2)
}

let journal = ExchangeJournal()
let responder = ProbeResponder(journal: journal)
let server = HTTPServer(configuration: configuration, responder: responder, observer: journal)
responder.attach(server)
do {
    for address in try server.start() { print(address) }
} catch {
    print("error: \(error)")
    exit(1)
}
print("ready")
fflush(nil)

let failure = Task {
    let error = await server.waitUntilFailure()
    guard error != .stopped else { return }
    print("failed: \(error)")
    fflush(nil)
    if !CommandLine.arguments.contains("survive") { exit(3) }
}
// Commands, one per line: "lameduck", "break" (the listening sockets), "break loops", "shutdown". The end of the input
// is a shutdown too.
let commands = Task.detached {
    var input = CommandInput()
    while let line = input.next() {
        if line == "lameduck" { server.beginLameDuck() }
        if line == "break" {
            for descriptor in Int32(3)..<64 where csys_is_listening(descriptor) == 1 {
                Glibc.shutdown(descriptor, Int32(SHUT_RDWR))
            }
        }
        if line == "break loops" {
            EventLoopBreaker.run()
            print("broken")
            fflush(nil)
        }
        if line == "shutdown" { break }
    }
    let report = await server.shutdown(within: drain)
    print("lost \(report.lostRequests)")
    fflush(nil)
    exit(0)
}
await commands.value
