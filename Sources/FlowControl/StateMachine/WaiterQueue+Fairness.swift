/// Shares the queue between clients.
extension WaiterQueue {
    /// The waiter that leaves a full queue for a new request of `client`: the newest of the client with the most
    /// waiters, if that client then still has more than `client`. So no client can fill the queue for the others.
    package func displaceable(by client: Int) -> WaiterTicket? {
        let own = waiting(of: client)
        // A single client in the queue is the most common reason for a full one.
        guard clients > 1 || own == 0, let longest = longestList, longest.count > own + 1 else { return nil }
        return newest(of: longest.turn)
    }

    /// The number of slots given before that of a client's next request: one to each of its own waiters, to as many of
    /// each other client, in turn, and those given meanwhile to waiters that were set aside.
    package func turnsBefore(_ client: Int) -> Int {
        let own = waiting(of: client)
        let clients = self.clients + (own == 0 ? 1 : 0)
        let withTurns = min(count - aside, clients * (own + 1) - 1)
        return withTurns + AsideTurns.slots(during: withTurns, aside: aside)
    }
}
