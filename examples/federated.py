"""Sites that may not share rows: three clients and a server of Flower, on this machine.

The centre has a model. Each of three new sites gets it, and answers with the sums over its rows and
with the statistics of its own validation; its rows stay where they are. The centre says where
each site stands, and how well the model does at sites like these.

    python examples/federated.py
"""

import json
import logging
import multiprocessing
import os
import socket
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

import dapdag
from dapdag import DAPDAGRegressor
from dapdag.datasets import make_regression_domains
from dapdag.distributed import SiteSummary, adapt, summarise
from dapdag.evaluate import pool_results, site_results, validate

SOURCES, SITES = (0, 2, 3, 4, 5, 7, 8, 10), {"Leeds": 1, "York": 6, "Hull": 9}
QUICK = {"n_members": 1, "max_epochs": 40}
SHOWN = ["estimate", "low", "high", "tau2", "sites"]


def rows_of(domains):
    """The simulated rows of some sites, in place of their own tables."""
    data = make_regression_domains(n_domains=11, n_samples=300, random_state=30)
    chosen = pd.Series(data.sample_domain).isin(domains).to_numpy()
    return data.X[chosen], data.y[chosen], data.sample_domain[chosen]


def at_centre() -> bytes:
    """Fit a model to the sites that share their rows: its file."""
    X, y, site = rows_of(SOURCES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.dapdag"
        DAPDAGRegressor(**QUICK).fit(X, y, sample_domain=site).save(path)
        return path.read_bytes()


def at_site(name: str, model_file: bytes) -> dict[str, str]:
    """What a site sends: sums over its rows, and statistics of its own validation."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.dapdag"
        path.write_bytes(model_file)
        model = dapdag.load(path)
    X, y, _ = rows_of([SITES[name]])
    results = site_results(validate(model, X, y))
    return {"site": name, "summary": summarise(model, X).to_json(), "results": json.dumps(results)}


def tell(model_file: bytes, answers: list[dict[str, str]]) -> None:
    """What the centre learns from the answers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.dapdag"
        path.write_bytes(model_file)
        model = dapdag.load(path)
    answers = sorted(answers, key=lambda answer: list(SITES).index(answer["site"]))
    found = []
    for answer in answers:
        site = adapt(model, SiteSummary.from_json(answer["summary"]))
        found.append(site.environment_.set_axis([answer["site"]]))
        turned = [str(n) for n, row in site.mechanisms_.iterrows() if row["turned"]]
        print(f"{answer['site']}: {site.n_rows_} rows; effects that turned around: {turned}")
    print(pd.concat(found).round(2).to_string())
    pooled = pool_results({a["site"]: json.loads(a["results"]) for a in answers})
    print("\nMeans over the sites (REML) with 95 % confidence intervals (Hartung-Knapp):")
    print(pooled.loc["model", SHOWN].round(2).to_string())


def serve(address: str, model_file: bytes) -> list[dict[str, str]]:
    """The server: ask every client once."""
    from flwr.common import GetPropertiesIns
    from flwr.server import Server, ServerConfig, SimpleClientManager, start_server
    from flwr.server.history import History

    answers = []

    class Centre(Server):
        def fit(self, num_rounds, timeout):
            self.client_manager().wait_for(len(SITES), timeout=300)
            asked = GetPropertiesIns({"model": model_file})
            for client in self.client_manager().all().values():
                answers.append(client.get_properties(asked, timeout, None).properties)
            return History(), 0.0

    centre = Centre(client_manager=SimpleClientManager())
    start_server(server_address=address, server=centre, config=ServerConfig(num_rounds=1))
    return answers


def take_part(address: str, name: str) -> None:
    """A client, in a process of its own at its site."""
    _quietly()
    from flwr.client import NumPyClient, start_client

    class Site(NumPyClient):
        def get_properties(self, config):
            return at_site(name, config["model"])

    start_client(server_address=address, client=Site().to_client(), insecure=True)


def _quietly() -> None:
    """Nothing is reported to Flower's makers, and nothing but our own lines is printed."""
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")


def _free_address() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


def main() -> None:
    model_file = at_centre()
    print(f"The model: {len(model_file) / 1e3:.0f} kB")
    if find_spec("flwr") is None:
        print("Flower is not installed (extra 'federated'): the sites answer in this process")
        tell(model_file, [at_site(name, model_file) for name in SITES])
        return
    _quietly()
    address = _free_address()
    spawn = multiprocessing.get_context("spawn")
    clients = [spawn.Process(target=take_part, args=(address, name)) for name in SITES]
    for client in clients:
        client.start()
    answers = serve(address, model_file)
    for client in clients:
        client.join()
    sent = sum(len(text) for answer in answers for text in answer.values())
    print(f"{len(answers)} clients answered over {address.split(':')[0]} with {sent / 1e3:.0f} kB")
    tell(model_file, answers)


if __name__ == "__main__":
    main()
