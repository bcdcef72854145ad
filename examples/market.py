"""Daily returns of a stock index
==============================

Twenty years of the S&P 500: how heavy are its tails, and does yesterday tell when to stay out of the market?
The log of the first half becomes an MDP, an agent learns in it, and its policy is tried on the second half.
"""

import matplotlib.pyplot as plt
import pandas as pd
from arch.data import sp500
from matplotlib.figure import Figure

import heavytail as ht

STATES = ["weather", "yesterday"]


def daily_returns() -> pd.DataFrame:
    """Load returns in percent, each with what was known on the morning of its day."""
    returns = 100 * sp500.load()["Adj Close"].pct_change()
    swing = returns.rolling(20).std()
    days = pd.DataFrame({"percent": returns})
    days["weather"] = (swing > swing.expanding().median()).map({True: "wild", False: "calm"}).shift()
    days["yesterday"] = (returns > 0).map({True: "rose", False: "fell"}).shift()
    return days.iloc[21:]


def make_log(days: pd.DataFrame) -> pd.DataFrame:
    """Write down both choices of each day: what either would have earned is known."""
    now, then = days.iloc[:-1], days.iloc[1:]
    after = {f"{name}_after": then[name].to_numpy() for name in STATES}
    stay_in = now.assign(choice="in", reward=now["percent"], **after)
    return pd.concat([stay_in, stay_in.assign(choice="out", reward=0.0)])


def main(steps: int = 200_000) -> Figure:
    """Look at the tails, learn from the first half, and try it on the second."""
    days = daily_returns()
    print(ht.tails.diagnose(days["percent"].to_numpy()))
    half = len(days) // 2
    market = ht.mdp_from_log(
        make_log(days[:half]),
        state=STATES,
        action="choice",
        reward="reward",
        next_state=[f"{name}_after" for name in STATES],
    )
    learner = ht.make_agent(market, seed=1)
    learner.learn(steps=steps)
    choices = dict(zip(market.states, (market.actions[a] for a in learner.policy()), strict=True))
    print(choices)
    is_in = pd.Series(list(map(tuple, days[STATES].to_numpy())), days.index).map(choices) == "in"
    figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
    halves = {"the years it learnt from": slice(None, half), "the years it never saw": slice(half, None)}
    for axes, (title, part) in zip(panels, halves.items(), strict=True):
        percent = days["percent"][part]
        axes.plot((1 + percent / 100).cumprod(), label="always in")
        axes.plot((1 + percent.where(is_in, 0.0) / 100).cumprod(), label="the agent")
        axes.set(xlabel="year", title=title)
    panels[0].set_ylabel("worth of one dollar")
    panels[0].legend()
    return figure


# %%
# The agent found a rule that would have doubled the money of the years it learnt from, and earned less than
# doing nothing in those it never saw: yesterday predicts nothing. Heavy tails are not to blame: the variance
# of daily returns is finite, and ``diagnose`` says that this needs no heavytail.
if __name__ == "__main__":
    main()
    plt.show()
