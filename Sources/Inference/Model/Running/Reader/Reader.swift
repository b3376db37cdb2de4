/// A reader of text: a detector, a recognizer and, if it has one, a classifier of direction, which run one after
/// another for each picture. They are loaded and released together.
package final class Reader: Sendable {
    /// The numbers of its bundle.
    package let description: ReaderDescription
    package let find: Model
    package let turn: Model?
    package let read: Model

    init(_ description: ReaderDescription, find: Model, turn: Model?, read: Model) {
        self.description = description
        self.find = find
        self.turn = turn
        self.read = read
    }

    /// Its models in the order of their stages.
    package var models: [(part: ReaderPart, model: Model)] {
        [(.find, find)] + (turn.map { [(.turn, $0)] } ?? []) + [(.read, read)]
    }
}
