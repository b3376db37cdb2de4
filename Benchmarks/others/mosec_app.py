"""Mosec: a Rust front and Python workers, one for each processor with one engine thread each."""
from classifier import THREADS, Classifier
from mosec import Server, Worker


class Infer(Worker):
    def __init__(self):
        self.classifier = Classifier(hint="LATENCY", threads=1)

    def deserialize(self, data):
        return data

    def forward(self, data):
        return self.classifier.classify(data)


if __name__ == "__main__":
    server = Server()
    server.append_worker(Infer, num=THREADS)
    server.run()
